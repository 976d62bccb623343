// Reads {secret, headers, body} of a webhook from standard input. Prints "verified" if its
// signature is valid and that of a changed body is not.
const assert = require('node:assert');
const {readFileSync} = require('node:fs');
const {Webhook} = require('standardwebhooks');

const {secret, headers, body} = JSON.parse(readFileSync(0, 'utf8'));
const webhook = new Webhook(secret);
assert.deepStrictEqual(webhook.verify(body, headers), JSON.parse(body));
assert.throws(() => webhook.verify(body + ' ', headers), {name: 'WebhookVerificationError'});
console.log('verified');
