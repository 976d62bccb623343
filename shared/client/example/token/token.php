<?php // A product's server. It serves the folder public, and gets tokens for the pages of signed-in users:
// php -S 127.0.0.1:3000 -t public token.php

const ANN = ['id' => 'ann', 'name' => 'Ann', 'email' => 'ann@example.com', 'company' => 'acme'];

// documentsOf returns the ids of the documents that the user may open in your product: fill this in.
function documentsOf(array $user): array
{
    return ['plan'];
}

// token returns a status, and the answer for a page or inbox of the user.
function token(?array $user, string $body): array
{
    if (!$user) {
        return [401, null];
    }
    $page = json_decode($body, true);
    if (!is_array($page)) {
        return [400, null];
    }
    $document = $page['documentId'] ?? null; // absent for an inbox
    $covered = array_values(array_filter(documentsOf($user), fn($id) => $document === null || $document === $id));
    if (!$covered) {
        return [403, null];
    }
    $resources = array_map(fn($id) => ['type' => 'document', 'id' => $id, 'organizationId' => $user['company']], $covered);
    $data = ['userId' => $user['id'], 'userProperties' => ['name' => $user['name'], 'email' => $user['email']],
        'permissions' => ['resources' => $resources], 'createOrganization' => true, 'createDocument' => true];
    $answer = @file_get_contents(getenv('COLLABDATA_URL') . '/v2/auth/generate_token', false, stream_context_create(['http' => [
        'method' => 'POST',
        'header' => ['Content-Type: application/json', 'x-service-api-key: ' . getenv('COLLABDATA_KEY'),
            'x-service-auth-token: ' . getenv('COLLABDATA_TOKEN')],
        'content' => json_encode(['data' => $data]),
    ]]));
    return $answer === false ? [502, null] : [200, json_decode($answer, true)['result']['data']];
}

if ($_SERVER['REQUEST_METHOD'] === 'GET' && $_SERVER['REQUEST_URI'] !== '/') {
    return false; // a file
}
session_start(['cookie_httponly' => true, 'cookie_samesite' => 'Lax']); // replace with your product's sessions
if ($_SERVER['REQUEST_URI'] === '/') {
    $_SESSION['user'] = ANN; // your product asks for a password first
    return @readfile('public/index.html');
}
[$status, $answer] = [404, null];
if ($_SERVER['REQUEST_URI'] === '/sign-out') {
    session_destroy();
    $status = 200;
} elseif ($_SERVER['REQUEST_URI'] === '/collab-token') {
    [$status, $answer] = token($_SESSION['user'] ?? null, file_get_contents('php://input'));
}
http_response_code($status);
header('Content-Type: application/json');
echo json_encode($answer);
