# Adds a thread, reads threads and notifications, and makes a mistake.
require "openapi_client"
include OpenapiClient

OpenapiClient.configure do |config|
  config.scheme, config.host = ARGV[0].split("://")
  config.api_key = {"x-service-api-key" => "dev-key", "x-service-auth-token" => "dev-token"}
end
class Time
  def to_json(*state) = iso8601(3).to_json(*state)
end
def show(value) = puts(JSON.generate(value.to_hash))
threads = CommentannotationsApi.new
document = "Übersicht Ruby"

comment = AnnotationComment.new(comment_id: 9007199254740991, created_at: 1700000000789, comment_text: "Is this final?",
  from: UserInput.new(user_id: "ann", name: "Ann"))
thread = NewAnnotation.new(annotation_id: "typed", created_at: 1700000000123, last_updated: 1700000001456, comment_data: [comment],
  status: Status.new(id: "MINE", name: "Mine", type: StatusType::ONGOING, icon_url: "https://acme.example/icon"))
threads.comment_annotations_add(CommentAnnotationsAddBody.new(data: CommentAnnotationsAddRequest.new(
  organization_id: "acme", document_id: document, comment_annotations: [thread])))

request = CommentAnnotationsGetRequest.new(organization_id: "acme", document_id: document)
threads.comment_annotations_get(CommentAnnotationsGetBody.new(data: request)).result.data.each { |item| show item }
inbox = NotificationsGetRequest.new(organization_id: "acme", document_id: document, user_id: "bob")
NotificationsApi.new.notifications_get(NotificationsGetBody.new(data: inbox)).result.data.each { |item| show item }
request.page_token = "unknown"
begin
  threads.comment_annotations_get(CommentAnnotationsGetBody.new(data: request))
rescue ApiError => e
  show ErrorResponse.build_from_hash(JSON.parse(e.response_body, symbolize_names: true)).error
end
