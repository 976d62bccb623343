import {elements as english} from '../../../words/catalogs/en.json';

import type {Failure} from './failure.js';

type Catalog = Record<string, string>;

/** The languages other than English, each in a separate file next to the script. */
const CATALOGS: Record<string, () => Promise<{elements: Catalog}>> = {
  de: () => import('../../../words/catalogs/de.json'),
  es: () => import('../../../words/catalogs/es.json'),
  fr: () => import('../../../words/catalogs/fr.json'),
  ja: () => import('../../../words/catalogs/ja.json'),
  pt: () => import('../../../words/catalogs/pt.json'),
};

type Form<K> = K extends `${infer Stem}.${'one' | 'other'}` ? Stem | K : K;

/** The key of a text, without its plural form. */
export type Key = Form<keyof typeof english>;

let own: Catalog = {};
let catalog: Catalog = english;
let loaded = 'en';
let tag: string | undefined;

/** The language of the elements, such as de-AT; undefined for the browser's. */
export const language = (): string | undefined => tag;

/** The language of the page, if the service supports it. */
export function locale(): string | undefined {
  const lang = languageOf(tag || document.documentElement?.lang);
  return lang in CATALOGS || lang === 'en' ? lang : undefined;
}

/** The language of a tag in lower case, or "". */
const languageOf = (lang: string | undefined): string => lang?.toLowerCase().split('-')[0] ?? '';

/**
 * Returns a text of the catalogs, with values for the names in braces. `count` selects a plural
 * form: a key that ends with .one, .few, .many or .other.
 */
export function say(key: Key, values: Record<string, string | number> = {}): string {
  const find = (name: string) => own[name] ?? catalog[name] ?? (english as Catalog)[name];
  const form = values.count === undefined ? '' : new Intl.PluralRules(loaded).select(+values.count);
  const template = (form && find(`${key}.${form}`)) || find(key) || find(`${key}.other`) || '';
  return template.replace(/\{(\w+)\}/g, (name, value) => `${values[value] ?? name}`);
}

let loading: Promise<void> | undefined;

/**
 * Loads the texts in a language for all elements of the page. Returns undefined if they are loaded.
 */
export function load(lang: string | undefined): Promise<void> | undefined {
  tag = lang || undefined;
  const wanted = languageOf(lang) || 'en';
  if (wanted === loaded) return loading;
  loaded = wanted;
  const asked = CATALOGS[wanted]?.() ?? Promise.resolve({elements: english});
  const all = asked.then(
    (file) => {
      if (wanted === loaded) catalog = file.elements;
    },
    (e) => console.error(`collabdata: the texts in the language ${wanted} could not be loaded: serve ${wanted}.js beside the script`, e),
  ).then(() => {
    if (loading === all) loading = undefined;
  });
  return (loading = all);
}

/** Returns the reason of a failure as a text. */
export function whyOf({status, retryAfter}: Failure): string {
  return say(`why.${status}` as Key, {count: Math.max(1, Math.ceil(retryAfter / 60_000))}) || say('why.other');
}

/** Replaces texts by key, for another tone. Call it before the elements are first shown. */
export function setTexts(texts: Catalog): void {
  own = {...own, ...texts};
}
