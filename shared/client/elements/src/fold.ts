/** Letters that Unicode does not decompose into a letter and a mark. */
const STROKES: Record<string, string> = {
  ø: 'o', ł: 'l', đ: 'd', ħ: 'h', ŧ: 't', ı: 'i', æ: 'ae', œ: 'oe', þ: 'th', ð: 'd', ς: 'σ', '’': "'", '‘': "'", ʼ: "'",
};
const MARKS = /(?![\u3099\u309a])(?=[\p{Script=Inherited}\p{Script=Hebrew}\p{Script=Arabic}])\p{Mn}/gu;

/** Returns a text as the service folds it for searches: without case, accents and other forms. */
export const folded = (text: string): string => text.normalize('NFKD').toUpperCase().toLowerCase().normalize('NFKD').replace(MARKS, '')
  .replace(/[øłđħŧıæœþðς’‘ʼ]/g, (letter) => STROKES[letter]!).normalize('NFC');

const EAST_ASIAN = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\p{Script=Hangul}]/u;

/**
 * Reports whether a text or one of its words begins with a key. Both are results of folded. A word
 * begins after any character that is no letter, mark or digit, and at each character of a name in
 * Chinese, Japanese or Korean. Apostrophes may be omitted.
 */
export function hasWord(text: string, key: string): boolean {
  const begins = (all: string, part: string): boolean => {
    for (let at = all.indexOf(part); at >= 0; at = all.indexOf(part, at + 1)) {
      if (!/[\p{L}\p{M}\p{N}]$/u.test(all.slice(Math.max(at - 2, 0), at)) || EAST_ASIAN.test(part)) return true;
    }
    return false;
  };
  return begins(text, key) || begins(text.replaceAll("'", ''), key.replaceAll("'", ''));
}

const SPACELESS = ['Han', 'Hiragana', 'Katakana', 'Bopomofo', 'Hangul', 'Yi', 'Thai', 'Lao', 'Khmer', 'Myanmar', 'Tibetan', 'Javanese', 'Balinese'].map((script) => `\\p{scx=${script}}`).join('');
const WORD = '\\p{L}\\p{M}\\p{N}_';
const AT = new RegExp(`(?:^|[^${WORD}/@＠]|[${SPACELESS}])[@＠](|[^\\s@＠][^\\n@＠]{0,39})$`, 'u');

/**
 * The letters of a name after the last @, which may have spaces, or undefined if it belongs to a
 * word, as in an address.
 */
export const soughtIn = (text: string): string | undefined => AT.exec(text)?.[1];

/** An expression for the end of a name, before another word or in a script without spaces. */
export const NAME_END = `(?![${WORD}])|(?=[${SPACELESS}])`;
