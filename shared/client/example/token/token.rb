# A product's server. It serves the folder public, and gets tokens for the pages of signed-in users: ruby token.rb
require "json"
require "net/http"
require "socket"

CREDENTIALS = {"x-service-api-key" => ENV.fetch("COLLABDATA_KEY"), "x-service-auth-token" => ENV.fetch("COLLABDATA_TOKEN"),
               "Content-Type" => "application/json"}
SESSIONS = {"1" => {id: "ann", name: "Ann", company: "acme", documents: ["plan"]}} # replace with your product's sessions

def token(session, body) # an action of Rails or Sinatra
  user = SESSIONS[session] or return [401]
  asked = JSON.parse(body)["documentId"] # empty for an inbox: all documents of the user
  covered = user[:documents].select { |id| [nil, id].include?(asked) }
  return [403] if covered.empty?
  resources = covered.map { |id| {type: "document", id: id, organizationId: user[:company]} }
  data = {userId: user[:id], userProperties: {name: user[:name]}, permissions: {resources: resources},
          createOrganization: true, createDocument: true}
  answer = Net::HTTP.post(URI(ENV.fetch("COLLABDATA_URL") + "/v2/auth/generate_token"), {data: data}.to_json, CREDENTIALS)
  [answer.code, JSON.parse(answer.body).dig("result", "data")]
rescue StandardError
  [502]
end

server = TCPServer.new("127.0.0.1", ENV.fetch("PORT"))
while (page = server.accept)
  head = page.gets("\r\n\r\n").to_s
  body = page.read(head[/^content-length: (\d+)/i, 1].to_i)
  if head.start_with?("GET")
    file = head[%r{\AGET (/assets/[\w.]+\.js) }, 1]
    more = "Content-Type: text/#{file ? "javascript" : "html"}\r\nSet-Cookie: session=1; HttpOnly" # your product asks for a password first
    status, answer = 200, File.read("public/#{file || "index.html"}")
  else # POST /collab-token
    status, answer = token(head[/^cookie: session=(\w+)/i, 1], body)
    more, answer = "Content-Type: application/json", answer.to_json
  end
  page.write("HTTP/1.1 #{status} \r\n#{more}\r\nConnection: close\r\n\r\n#{answer}")
  page.close
end
