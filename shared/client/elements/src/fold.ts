/** Letters that Unicode does not decompose into a letter and a mark. */
const STROKES: Record<string, string> = {ø: 'o', ł: 'l', đ: 'd', ħ: 'h', ŧ: 't', ı: 'i', æ: 'ae', œ: 'oe', ς: 'σ'};
const MARKS = /(?![\u3099\u309a])(?=[\p{Script=Inherited}\p{Script=Hebrew}\p{Script=Arabic}])\p{Mn}/gu;

/** Returns a text as the service folds it for searches: without case, accents and other forms. */
export const folded = (text: string): string => text.normalize('NFKD').toUpperCase().toLowerCase().normalize('NFKD').replace(MARKS, '')
  .replace(/[øłđħŧıæœς]/g, (letter) => STROKES[letter]!).normalize('NFC');

/** Reports whether a text or one of its words begins with a key. Both are results of folded. */
export const hasWord = (text: string, key: string): boolean => ` ${text}`.includes(` ${key}`);

const SPACELESS = ['Han', 'Hiragana', 'Katakana', 'Bopomofo', 'Yi', 'Thai', 'Lao', 'Khmer', 'Myanmar', 'Tibetan', 'Javanese', 'Balinese'].map((script) => `\\p{scx=${script}}`).join('');
const WORD = '\\p{L}\\p{M}\\p{N}_';
const AT = new RegExp(`(?:^|[^${WORD}/@＠]|[${SPACELESS}])[@＠]([^\\s@＠]{0,40})$`, 'u');

/**
 * The letters of a name after the last @, or undefined if it belongs to a word, as in an address.
 */
export const soughtIn = (text: string): string | undefined => AT.exec(text)?.[1];

/** An expression for the end of a name, before another word or in a script without spaces. */
export const NAME_END = `(?![${WORD}])|(?=[${SPACELESS}])`;
