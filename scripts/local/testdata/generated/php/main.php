<?php
// Adds a thread, reads threads and notifications, and makes a mistake.
use OpenAPI\Client\Model;

require 'GuzzleHttp/autoload.php';
spl_autoload_register(function ($class) {
    $file = 'client/lib/' . strtr(str_replace('OpenAPI\Client\\', '', $class), '\\', '/') . '.php';
    if (is_file($file)) {
        require_once $file;
    }
});
foreach (glob('client/lib/{,*/}*.php', GLOB_BRACE) as $file) { // all have to load
    require_once $file;
}

$config = (new OpenAPI\Client\Configuration())->setHost($argv[1])
    ->setApiKey('x-service-api-key', 'dev-key')->setApiKey('x-service-auth-token', 'dev-token');
$threads = new OpenAPI\Client\Api\CommentannotationsApi(config: $config);
$document = 'Übersicht PHP';

OpenAPI\Client\ObjectSerializer::setDateTimeFormat('Y-m-d\TH:i:s.vP');
function show($value)
{
    echo json_encode(OpenAPI\Client\ObjectSerializer::sanitizeForSerialization($value)), "\n";
}

$from = new Model\UserInput(['user_id' => 'ann', 'name' => 'Ann']);
$comment = new Model\AnnotationComment(['comment_id' => 9007199254740991, 'created_at' => 1700000000789, 'comment_text' => 'Is this final?', 'from' => $from]);
$status = new Model\Status(['id' => 'MINE', 'name' => 'Mine', 'type' => Model\StatusType::ONGOING, 'icon_url' => 'https://acme.example/icon']);
$thread = new Model\NewAnnotation(['annotation_id' => 'typed', 'created_at' => 1700000000123, 'last_updated' => 1700000001456, 'status' => $status, 'comment_data' => [$comment]]);
$add = (new Model\CommentAnnotationsAddRequest(['organization_id' => 'acme']))->setDocumentId($document)->setCommentAnnotations([$thread]);
$threads->commentAnnotationsAdd(new Model\CommentAnnotationsAddBody(['data' => $add]));

$get = (new Model\CommentAnnotationsGetRequest(['organization_id' => 'acme']))->setDocumentId($document);
$body = new Model\CommentAnnotationsGetBody(['data' => $get]);
array_map('show', $threads->commentAnnotationsGet($body)->getResult()->getData());
$inbox = (new Model\NotificationsGetRequest(['organization_id' => 'acme', 'user_id' => 'bob']))->setDocumentId($document);
$notifications = new OpenAPI\Client\Api\NotificationsApi(config: $config);
array_map('show', $notifications->notificationsGet(new Model\NotificationsGetBody(['data' => $inbox]))->getResult()->getData());
$get->setPageToken('unknown');
try {
    $threads->commentAnnotationsGet($body);
} catch (OpenAPI\Client\ApiException $e) {
    show($e->getResponseObject()->getError());
}
