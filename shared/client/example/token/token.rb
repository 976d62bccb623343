# A product's server. It serves the folder public, and gets tokens for the pages of signed-in users: ruby token.rb
require "json"
require "net/http"
require "securerandom"
require "socket"

CREDENTIALS = {"x-service-api-key" => ENV.fetch("COLLABDATA_KEY"), "x-service-auth-token" => ENV.fetch("COLLABDATA_TOKEN"),
               "Content-Type" => "application/json"}
ANN = {id: "ann", name: "Ann", email: "ann@example.com", company: "acme"}
SESSIONS = {} # users by session: replace with your product's

# Returns the ids of the documents that the user may open in your product: fill this in.
def documents_of(user)
  ["plan"]
end

# Returns a status, and the answer for a page or inbox of the user: an action of Rails or Sinatra.
def token(user, body)
  return [401] unless user
  page = JSON.parse(body) rescue nil
  return [400] unless page.is_a?(Hash)
  document = page["documentId"] # absent for an inbox
  covered = documents_of(user).select { |id| [nil, id].include?(document) }
  return [403] if covered.empty?
  resources = covered.map { |id| {type: "document", id: id, organizationId: user[:company]} }
  data = {userId: user[:id], userProperties: {name: user[:name], email: user[:email]}, permissions: {resources: resources},
          createOrganization: true, createDocument: true}
  answer = Net::HTTP.post(URI(ENV.fetch("COLLABDATA_URL") + "/v2/auth/generate_token"), {data: data}.to_json, CREDENTIALS)
  answer.is_a?(Net::HTTPOK) ? [200, JSON.parse(answer.body).dig("result", "data")] : [502]
rescue SystemCallError, IOError
  [502]
end

server = TCPServer.new("127.0.0.1", ENV.fetch("PORT"))
while (page = server.accept)
  head = page.gets("\r\n\r\n").to_s
  body = page.read(head[/^content-length: (\d+)/i, 1].to_i)
  session = head[/^cookie:.*\bsession=(\w+)/i, 1]
  more = "Content-Type: application/json"
  case head
  when %r{\APOST /collab-token }
    status, answer = token(SESSIONS[session], body)
    answer = answer.to_json
  when %r{\APOST /sign-out }
    SESSIONS.delete(session)
    status, answer = 200, "{}"
  when %r{\AGET (/assets/[\w.]+\.js) }
    status, answer, more = 200, File.read("public#{$1}"), "Content-Type: text/javascript"
  else
    SESSIONS[session = SecureRandom.hex] = ANN # your product asks for a password first
    status, answer = 200, (File.read("public/index.html") rescue "")
    more = "Content-Type: text/html\r\nSet-Cookie: session=#{session}; HttpOnly; SameSite=Lax"
  end
  page.write("HTTP/1.1 #{status} \r\n#{more}\r\nConnection: close\r\n\r\n#{answer}")
  page.close
end
