<?php
// Adds a thread, reads it, and makes a mistake.
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

$from = new Model\UserInput(['user_id' => 'ann', 'name' => 'Ann']);
$comment = new Model\AnnotationComment(['comment_text' => 'Is this final?', 'from' => $from]);
$add = (new Model\CommentAnnotationsAddRequest(['organization_id' => 'acme', 'create_document' => true]))->setDocumentId($document)
    ->setCommentAnnotations([new Model\NewAnnotation(['comment_data' => [$comment]])]);
foreach ($threads->commentAnnotationsAdd(new Model\CommentAnnotationsAddBody(['data' => $add]))->getResult()->getData() as $item) {
    echo json_encode($item->getSuccess()), "\n";
}

$get = (new Model\CommentAnnotationsGetRequest(['organization_id' => 'acme']))->setDocumentId($document);
$body = new Model\CommentAnnotationsGetBody(['data' => $get]);
$first = $threads->commentAnnotationsGet($body)->getResult()->getData()[0];
echo "{$first->getComments()[0]->getCommentText()} {$first->getFrom()->getName()} {$first->getStatus()->getId()}\n";

$get->setPageToken('unknown');
try {
    $threads->commentAnnotationsGet($body);
} catch (OpenAPI\Client\ApiException $e) {
    $error = $e->getResponseObject()->getError();
    echo "{$error->getStatus()} {$error->getDetails()[0]->getField()}\n";
}
