// Adds a thread, reads threads and notifications, and makes a mistake.
import createClient from "openapi-fetch";
import type {paths} from "./schema.js";

declare const process: {argv: string[]};
const headers = {"x-service-api-key": "dev-key", "x-service-auth-token": "dev-token"};
const client = createClient<paths>({baseUrl: process.argv[2], headers});
const place = {organizationId: "acme", documentId: "Übersicht TypeScript"};
const show = (value: unknown) => console.log(JSON.stringify(value));

await client.POST("/v2/commentannotations/add", {body: {data: {...place, commentAnnotations: [{
  annotationId: "typed", createdAt: 1700000000123, lastUpdated: 1700000001456,
  status: {id: "MINE", name: "Mine", type: "ongoing", iconUrl: "https://acme.example/icon"},
  commentData: [{commentId: 9007199254740991, createdAt: 1700000000789, commentText: "Is this final?", from: {userId: "ann", name: "Ann"}}],
}]}}});

const {data: threads} = await client.POST("/v2/commentannotations/get", {body: {data: place}});
threads!.result.data.forEach(show);
const {data: inbox} = await client.POST("/v2/notifications/get", {body: {data: {...place, userId: "bob"}}});
inbox!.result.data.forEach(show);
const {error: refused} = await client.POST("/v2/commentannotations/get", {body: {data: {...place, pageToken: "unknown"}}});
show(refused!.error);
