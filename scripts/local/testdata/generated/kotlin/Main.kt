import org.openapitools.client.apis.CommentannotationsApi
import org.openapitools.client.apis.NotificationsApi
import org.openapitools.client.infrastructure.*
import org.openapitools.client.models.*

private inline fun <reified T> show(value: T) = println(Serializer.moshi.adapter(T::class.java).toJson(value))

/** Adds a thread, reads threads and notifications, and makes a mistake. */
fun main(args: Array<String>) {
    ApiClient.apiKey += mapOf("x-service-api-key" to "dev-key", "x-service-auth-token" to "dev-token")
    val threads = CommentannotationsApi(args[0])
    val document = "Übersicht Kotlin"

    val thread = NewAnnotation(annotationId = "typed", createdAt = 1700000000123, lastUpdated = 1700000001456,
        status = Status(id = "MINE", name = "Mine", type = StatusType.ongoing, iconUrl = "https://acme.example/icon"),
        commentData = listOf(AnnotationComment(commentId = 9007199254740991, createdAt = 1700000000789,
            commentText = "Is this final?", from = UserInput(userId = "ann", name = "Ann"))))
    threads.commentAnnotationsAdd(CommentAnnotationsAddBody(
        CommentAnnotationsAddRequest(organizationId = "acme", documentId = document, commentAnnotations = listOf(thread))))

    val request = CommentAnnotationsGetRequest(organizationId = "acme", documentId = document)
    threads.commentAnnotationsGet(CommentAnnotationsGetBody(request)).result.data.forEach { show(it) }
    val inbox = NotificationsGetRequest(organizationId = "acme", documentId = document, userId = "bob")
    NotificationsApi(args[0]).notificationsGet(NotificationsGetBody(inbox)).result.data.forEach { show(it) }
    try {
        threads.commentAnnotationsGet(CommentAnnotationsGetBody(request.copy(pageToken = "unknown")))
    } catch (e: ClientException) {
        show(Serializer.moshi.adapter(ErrorResponse::class.java).fromJson((e.response as ClientError<*>).body as String)!!.error)
    }
}
