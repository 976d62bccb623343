'use strict';
// Renders the reference, with the credentials of the first account filled in, so that each operation can be tried.
const place = document.getElementById('reference');
Scalar.createApiReference(place, {
  url: '/openapi.json',
  authentication: {
    preferredSecurityScheme: [['apiKey', 'authToken']],
    securitySchemes: {apiKey: {value: place.dataset.key}, authToken: {value: place.dataset.token}},
  },
  operationTitleSource: 'summary',
  modelsSectionLabel: 'Schemas',
  documentDownloadType: 'json',
  defaultHttpClient: {targetKey: 'shell', clientKey: 'curl'},
  hideDarkModeToggle: true, // it follows the system, as the other pages do
  withDefaultFonts: false,
  telemetry: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  persistAuth: false,
  agent: {disabled: true},
  mcp: {disabled: true},
  onLoaded: () => { document.documentElement.dataset.ready = 'true'; },

  // A key is good for one request: each try has its own, unless the reader wrote one.
  onBeforeRequest: ({requestBuilder}) => {
    const key = requestBuilder.headers.get('Idempotency-Key');
    if (key === '' || key === exampleKey) requestBuilder.headers.set('Idempotency-Key', crypto.randomUUID());
  },
});
const exampleKey = '5f1c8f2e-7d0a-4c83-9b4e-2f6d7f6a1c11'; // of the document

// What Scalar leaves without a name, a state or a way to reach it by the keyboard, and what it says wrongly: null takes an attribute away.
const corrections = {
  '[role=combobox]:not([aria-controls])': {'aria-expanded': 'false', 'aria-controls': 'reference'},
  '[role=combobox]:not([aria-label])': {'aria-label': 'Value'},
  '.cm-content:not([aria-label])': {'aria-label': 'Body'},
  'button[class*="/copy-button"]:not([aria-label])': {'aria-label': 'Copy', 'aria-controls': null},
  'button[role=none]': {role: null},
  '.show-more[aria-label]': {'aria-label': null},
  'code.hljs:not([tabindex]), ul.endpoints:not([tabindex]), span.overflow-x-auto:not([tabindex]), .cm-scroller[tabindex="-1"]': {tabindex: '0'},
};
new MutationObserver(() => {
  for (const [elements, attributes] of Object.entries(corrections)) {
    for (const element of document.querySelectorAll(elements)) {
      for (const [name, value] of Object.entries(attributes)) {
        if (value === null) element.removeAttribute(name);
        else element.setAttribute(name, value);
      }
    }
  }
}).observe(document.body, {childList: true, subtree: true});
