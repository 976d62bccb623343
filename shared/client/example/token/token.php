<?php // A product's server. It serves the folder public, and gets tokens for the pages of signed-in users:
// php -S 127.0.0.1:3000 -t public token.php

if ($_SERVER['REQUEST_URI'] === '/') {
    setcookie('session', '1', ['httponly' => true]); // your product asks for a password first
    return readfile('public/index.html');
}
if ($_SERVER['REQUEST_METHOD'] === 'GET') {
    return false; // a file
}

$sessions = ['1' => ['id' => 'ann', 'name' => 'Ann', 'company' => 'acme', 'documents' => ['plan']]]; // replace with your product's sessions
$user = $sessions[$_COOKIE['session'] ?? ''] ?? null;
$asked = json_decode(file_get_contents('php://input'), true)['documentId'] ?? null; // empty for an inbox: all documents of the user
$covered = array_filter($user['documents'] ?? [], fn($id) => $asked === null || $asked === $id);
if ($_SERVER['REQUEST_URI'] !== '/collab-token' || !$covered) {
    http_response_code($user ? 403 : 401);
    return;
}
$resources = array_map(fn($id) => ['type' => 'document', 'id' => $id, 'organizationId' => $user['company']], array_values($covered));
$data = ['userId' => $user['id'], 'userProperties' => ['name' => $user['name']], 'permissions' => ['resources' => $resources],
    'createOrganization' => true, 'createDocument' => true];
$answer = file_get_contents(getenv('COLLABDATA_URL') . '/v2/auth/generate_token', false, stream_context_create(['http' => [
    'method' => 'POST',
    'header' => ['Content-Type: application/json', 'x-service-api-key: ' . getenv('COLLABDATA_KEY'),
        'x-service-auth-token: ' . getenv('COLLABDATA_TOKEN')],
    'content' => json_encode(['data' => $data]),
]]));
http_response_code($answer === false ? 502 : 200);
header('Content-Type: application/json');
echo json_encode(json_decode($answer, true)['result']['data'] ?? null);
