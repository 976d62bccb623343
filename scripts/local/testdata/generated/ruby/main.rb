# Adds a thread, reads it, and makes a mistake.
require "openapi_client"
include OpenapiClient

OpenapiClient.configure do |config|
  config.scheme, config.host = ARGV[0].split("://")
  config.api_key = {"x-service-api-key" => "dev-key", "x-service-auth-token" => "dev-token"}
end
threads = CommentannotationsApi.new
document = "Übersicht Ruby"

comment = AnnotationComment.new(comment_text: "Is this final?", from: UserInput.new(user_id: "ann", name: "Ann"))
added = threads.comment_annotations_add(CommentAnnotationsAddBody.new(data: CommentAnnotationsAddRequest.new(
  organization_id: "acme", document_id: document, create_document: true,
  comment_annotations: [NewAnnotation.new(comment_data: [comment])])))
added.result.data.each_value { |item| puts item.success }

request = CommentAnnotationsGetRequest.new(organization_id: "acme", document_id: document)
first = threads.comment_annotations_get(CommentAnnotationsGetBody.new(data: request)).result.data[0]
puts "#{first.comments[0].comment_text} #{first.from.name} #{first.status.id}"

request.page_token = "unknown"
begin
  threads.comment_annotations_get(CommentAnnotationsGetBody.new(data: request))
rescue ApiError => e
  error = ErrorResponse.build_from_hash(JSON.parse(e.response_body, symbolize_names: true)).error
  puts "#{error.status} #{error.details[0].field}"
end
