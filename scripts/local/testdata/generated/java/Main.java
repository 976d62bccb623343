import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.JSON;
import org.openapitools.client.api.CommentannotationsApi;
import org.openapitools.client.api.NotificationsApi;
import org.openapitools.client.model.*;

/** Adds a thread, reads threads and notifications, and makes a mistake. */
class Main {
    public static void main(String[] args) throws Exception {
        ApiClient client = new ApiClient().setBasePath(args[0])
            .addDefaultHeader("x-service-api-key", "dev-key").addDefaultHeader("x-service-auth-token", "dev-token");
        CommentannotationsApi threads = new CommentannotationsApi(client);
        String document = "Übersicht Java";

        NewAnnotation thread = new NewAnnotation().annotationId("typed").createdAt(1700000000123L).lastUpdated(1700000001456L)
            .status(new Status().id("MINE").name("Mine").type(StatusType.ONGOING).iconUrl("https://acme.example/icon"))
            .addCommentDataItem(new AnnotationComment().commentId(9007199254740991L).createdAt(1700000000789L)
                .commentText("Is this final?").from(new UserInput().userId("ann").name("Ann")));
        threads.commentAnnotationsAdd(new CommentAnnotationsAddBody().data(new CommentAnnotationsAddRequest()
            .organizationId("acme").documentId(document).addCommentAnnotationsItem(thread)), null);

        // The server refuses empty lists: those that are not set are not sent.
        CommentAnnotationsGetRequest request = new CommentAnnotationsGetRequest().organizationId("acme").documentId(document);
        CommentAnnotationsGetBody get = new CommentAnnotationsGetBody().data(request);
        threads.commentAnnotationsGet(get).getResult().getData().forEach(Main::show);
        NotificationsGetRequest inbox = new NotificationsGetRequest().organizationId("acme").documentId(document).userId("bob");
        new NotificationsApi(client).notificationsGet(new NotificationsGetBody().data(inbox)).getResult().getData().forEach(Main::show);
        request.setPageToken("unknown");
        try {
            threads.commentAnnotationsGet(get);
        } catch (ApiException e) {
            show(ErrorResponse.fromJson(e.getResponseBody()).getError());
        }
    }

    private static void show(Object value) {
        System.out.println(JSON.getGson().toJson(value));
    }
}
