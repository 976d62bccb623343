# Gets a token for the page of a signed-in user: sh token.sh
curl -sS --fail-with-body "$COLLABDATA_URL/v2/auth/generate_token" \
  -H "x-service-api-key: $COLLABDATA_KEY" -H "x-service-auth-token: $COLLABDATA_TOKEN" -H 'Content-Type: application/json' -d '{"data": {
    "userId": "ann", "userProperties": {"name": "Ann"}, "permissions": {"resources": [
      {"type": "document", "id": "plan", "organizationId": "acme"}]},
    "createOrganization": true, "createDocument": true}}'
