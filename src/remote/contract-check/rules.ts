/** The rules of the contract that are checked, by the ids that results carry. */

/** What the contract says, by id. */
export const rules = {
  "calls/succeed": "A valid call of somebody who may make it succeeds.",
  "authentication/missing-token": "Every method but the open ones needs a bearer token: UNAUTHENTICATED without one.",
  "authentication/invalid-token": "A bearer token that is none is UNAUTHENTICATED.",
  "authentication/open": "An open method answers without a token.",
  "protocols/same-answer": "REST, Connect and gRPC give the same answer, and the same error with the same details.",
  "errors/status":
    "An error is a google.rpc.Status with code, message and details; REST has the HTTP status of its code.",
  "errors/error-info":
    "The first detail of an error is an ErrorInfo with the name of the code and the domain of the service.",
  "errors/bad-request": "INVALID_ARGUMENT has a BadRequest that names fields of the request.",
  "errors/resource-info": "NOT_FOUND and ALREADY_EXISTS have a ResourceInfo with the type of the resource.",
  "errors/unknown-path": "A path of no method is 404 with a Status.",
  "errors/wrong-verb": "A path of a method with another verb is 405 with a Status and Allow.",
  "errors/malformed-body": "A body that is not JSON is INVALID_ARGUMENT.",
  "errors/unknown-field": "A field that the message lacks is INVALID_ARGUMENT and named.",
  "create/answer":
    "Create answers the resource: its uid below the parent, times, an etag, and the fields that were sent.",
  "create/duplicate": "A second resource with the same name is ALREADY_EXISTS.",
  "create/required": "Create without the required fields is INVALID_ARGUMENT, with a violation for them.",
  "get/created": "Get answers what Create answered.",
  "get/unknown-uid": "A uid within reach that nothing has is NOT_FOUND (AIP-131).",
  "get/malformed-uid": "A uid that is none is NOT_FOUND.",
  "delete/unknown-uid": "Delete of a resource that does not exist is NOT_FOUND (AIP-135).",
  "delete/answer": "Delete answers nothing, and the resource is gone.",
  "delete/not-empty": "A group with children is FAILED_PRECONDITION, with a violation RESOURCE_NOT_EMPTY.",
  "update/unknown-uid": "Update of a resource that does not exist is NOT_FOUND (AIP-134).",
  "masks/only-named": "Update with a mask changes the fields that it names, and no others.",
  "masks/populated": "Update without a mask changes the fields of the body.",
  "masks/unknown-path": "A path of update_mask that the resource lacks is INVALID_ARGUMENT on update_mask.",
  "masks/star": "The mask * replaces every mutable field: those that the body lacks are cleared.",
  "masks/no-op": "An update that changes nothing leaves update_time and etag as they are.",
  "etag/changes": "The etag changes with the resource.",
  "etag/stale": "A write with an etag that is not the newest is ABORTED, and changes nothing (AIP-154).",
  "etag/if-match": "If-Match with an etag that is not the newest is ABORTED over REST.",
  "lists/contains": "List has what was created, as Get answers it.",
  "lists/negative-page-size": "A negative page_size is INVALID_ARGUMENT on page_size.",
  "lists/negative-skip": "A negative skip is INVALID_ARGUMENT on skip.",
  "lists/default-page-size": "Without page_size a page has 50 items.",
  "lists/page-size-cap": "A page has at most 200 items.",
  "lists/total-count": "totalCount is the number of all matching results, on every page.",
  "lists/skip": "skip leaves out so many results, and skipped echoes it.",
  "lists/order": "order_by sorts by its fields, ascending unless told, and ties break by uid.",
  "lists/unknown-order": "An unknown field of order_by is INVALID_ARGUMENT on order_by.",
  "lists/pages": "Pages that follow page tokens have every result once, in order; the last has no nextPageToken.",
  "lists/page-token-alone": "A page token alone continues its query.",
  "lists/page-token-damaged": "A page token that the server did not make is INVALID_ARGUMENT on page_token.",
  "lists/page-token-other-query": "A page token with another filter or order is INVALID_ARGUMENT on page_token.",
  "lists/filter-name": "The filter name has exact matches only.",
  "lists/filter-uidp": "uidp filters by place: children_of, descendants_of, ids; several combine by AND.",
  "lists/filter-unknown-uid": "A filter by a uid that nothing has lists nothing, without an error.",
  "lists/filter-malformed-uid": "A filter by a uid that is none is INVALID_ARGUMENT.",
  "authorization/scope": "A List answers what the caller may list, and nothing of other groups.",
  "authorization/get":
    "A uid outside the caller's reach is PERMISSION_DENIED, whether or not it exists, with one text.",
  "authorization/capability": "A method whose capability the caller lacks is PERMISSION_DENIED.",
  "authorization/revoked": "A role binding counts from the next call on, and not any more after it is deleted.",
} as const;

/** The id of a rule. */
export type RuleId = keyof typeof rules;
