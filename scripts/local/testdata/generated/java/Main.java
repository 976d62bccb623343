import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.CommentannotationsApi;
import org.openapitools.client.model.*;

/** Adds a thread, reads it, and makes a mistake. */
class Main {
    public static void main(String[] args) throws Exception {
        ApiClient client = new ApiClient().setBasePath(args[0])
            .addDefaultHeader("x-service-api-key", "dev-key").addDefaultHeader("x-service-auth-token", "dev-token");
        CommentannotationsApi threads = new CommentannotationsApi(client);
        String document = "Übersicht Java";

        NewAnnotation thread = new NewAnnotation().addCommentDataItem(
            new AnnotationComment().commentText("Is this final?").from(new UserInput().userId("ann").name("Ann")));
        CommentAnnotationsAddBody add = new CommentAnnotationsAddBody().data(new CommentAnnotationsAddRequest()
            .organizationId("acme").documentId(document).createDocument(true).addCommentAnnotationsItem(thread));
        for (CommentAnnotationsAddItem item : threads.commentAnnotationsAdd(add, null).getResult().getData().values())
            System.out.println(item.getSuccess());

        // The server refuses empty lists: those that are not set are not sent.
        CommentAnnotationsGetRequest request = new CommentAnnotationsGetRequest().organizationId("acme").documentId(document);
        CommentAnnotationsGetBody get = new CommentAnnotationsGetBody().data(request);
        NullableAnnotation first = threads.commentAnnotationsGet(get).getResult().getData().get(0);
        System.out.println(first.getComments().get(0).getCommentText() + " " + first.getFrom().getName() + " " + first.getStatus().getId());

        request.setPageToken("unknown");
        try {
            threads.commentAnnotationsGet(get);
        } catch (ApiException e) {
            org.openapitools.client.model.Error error = ErrorResponse.fromJson(e.getResponseBody()).getError();
            System.out.println(error.getStatus() + " " + error.getDetails().get(0).getField());
        }
    }
}
