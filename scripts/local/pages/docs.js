'use strict';
// Renders the reference, with the credentials of the first account filled in, so that each operation can be tried.
const place = document.getElementById('reference');
const values = {'x-service-api-key': place.dataset.key, 'x-service-auth-token': place.dataset.token};
const ui = SwaggerUIBundle({
  url: '/openapi.json',
  domNode: place,
  validatorUrl: null,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 8,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  onComplete: () => {
    const schemes = ui.specSelectors.specJson().getIn(['components', 'securitySchemes']);
    schemes?.forEach((scheme, name) => ui.preauthorizeApiKey(name, values[scheme.get('name').toLowerCase()] ?? ''));
    document.documentElement.dataset.ready = 'true';
  },
});

// Swagger UI leaves some fields without a name for those who hear the page.
const names = {'select#servers': 'Server', 'select.examples-select-element': 'Example', 'textarea.body-param__text': 'Request body', '.parameters input': 'Value'};
new MutationObserver(() => {
  for (const [fields, name] of Object.entries(names)) {
    for (const field of place.querySelectorAll(`${fields}:not([aria-label])`)) field.setAttribute('aria-label', name);
  }
  for (const button of place.querySelectorAll('button.json-schema-2020-12-accordion:not([aria-label])')) {
    if (!button.textContent.trim()) button.setAttribute('aria-label', 'Fields');
  }
}).observe(place, {childList: true, subtree: true});
