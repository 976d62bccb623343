// Adds a thread, reads it, and makes a mistake.
import createClient from "openapi-fetch";
import type {paths} from "./schema.js";

declare const process: {argv: string[]};
const headers = {"x-service-api-key": "dev-key", "x-service-auth-token": "dev-token"};
const client = createClient<paths>({baseUrl: process.argv[2], headers});
const place = {organizationId: "acme", documentId: "Übersicht TypeScript"};

const thread = {commentData: [{commentText: "Is this final?", from: {userId: "ann", name: "Ann"}}]};
const added = await client.POST("/v2/commentannotations/add", {body: {data: {...place, createDocument: true, commentAnnotations: [thread]}}});
for (const item of Object.values(added.data!.result.data)) console.log(item.success);

const got = await client.POST("/v2/commentannotations/get", {body: {data: place}});
const first = got.data!.result.data[0]!;
console.log(first.comments[0]!.commentText, first.from!.name, first.status.id);

const {error: refused} = await client.POST("/v2/commentannotations/get", {body: {data: {...place, pageToken: "unknown"}}});
console.log(refused!.error.status, refused!.error.details![0]!.field);
