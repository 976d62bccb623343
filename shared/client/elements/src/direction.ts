const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const FORMATTING = /[\u200f\u202a-\u202e\u2066-\u2069]/;

/** Whether a text has characters that are written from right to left. */
export const isRightToLeft = (text: string): boolean => RIGHT_TO_LEFT.test(text);

/** A name for use in a text, without changing the text's direction. */
export const isolated = (name: string): string => (isRightToLeft(name) || FORMATTING.test(name) ? `\u2068${name.replace(/[\u2066-\u2069]/g, '')}\u2069` : name);

/** A label without characters that set its direction, which can hide its end: "exe.pdf". */
export const undirected = (label: string): string => label.replace(/[\u202a-\u202e\u2066-\u2069]/g, '');
