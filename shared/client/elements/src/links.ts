/** An address from a template: the values of its names in braces. */
export const filled = (template: string, values: Record<string, string | number | undefined>): string =>
  template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ''));

// White space, delimiters, and CJK punctuation.
const END = /[\s<>"{}\u3000-\u3004\u3008-\u3020\u3030\u303d\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]/;
const TRAILING = /[.,;:!?'*~`(\[]|(?=[^\0-\x7f])\p{P}/u;
const SCHEME = /^https?:\/*$/i;
const OPENING: Record<string, string> = {')': '(', ']': '['};

/**
 * The link at a position of a text where an address starts, or "" if only the scheme is there.
 * Punctuation at its end and a bracket that is not opened in it belong to the text.
 */
export function linkAt(text: string, start: number): string {
  const open: string[] = [];
  let end = start;
  for (; end < text.length && !END.test(text[end]!); end++) {
    const character = text[end]!;
    if (character in OPENING && open.pop() !== OPENING[character]) break;
    if (character === '(' || character === '[') open.push(character);
  }
  while (TRAILING.test(text[end - 1] ?? '')) end--;
  const link = text.slice(start, end);
  return SCHEME.test(link) ? '' : link;
}
