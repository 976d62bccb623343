// Reads {secret, headers, body} of a webhook from standard input, and prints "verified" when its signature is right and that of another
// body is not.
const assert = require('node:assert');
const {readFileSync} = require('node:fs');
const {Webhook} = require('standardwebhooks');

const {secret, headers, body} = JSON.parse(readFileSync(0, 'utf8'));
const webhook = new Webhook(secret);
assert.deepStrictEqual(webhook.verify(body, headers), JSON.parse(body));
assert.throws(() => webhook.verify(body + ' ', headers), {name: 'WebhookVerificationError'});
console.log('verified');
