import HTTPTypes

/// A request that a route of the collector answers.
package struct CollectorRequest: Sendable {
    /// The path without its query, and without the slash at its end.
    package let path: String
    /// What stands in the path where the route's path has a name in braces; empty when it has none.
    package let pathArgument: String
    /// The parameters of the query.
    package let query: QueryParameters
    let headers: HTTPFields
    /// The media type of the body in lower case, without parameters; empty when none is said.
    package let mediaType: String
    /// The body as it was received, complete.
    package internal(set) var body: [UInt8]
    /// The address of the client; behind a trusted proxy that which the proxy names.
    package let clientAddress: String
    /// When the request's head came, in milliseconds since 1970.
    package let receivedAtMilliseconds: Int64

    /// Makes a request without headers.
    package init(
        path: String, pathArgument: String = "", query: QueryParameters = QueryParameters(),
        mediaType: String = "", body: [UInt8] = [], clientAddress: String = "",
        receivedAtMilliseconds: Int64 = 0
    ) {
        self.init(
            path: path, pathArgument: pathArgument, query: query, headers: HTTPFields(),
            mediaType: mediaType, body: body, clientAddress: clientAddress,
            receivedAtMilliseconds: receivedAtMilliseconds)
    }

    init(
        path: String, pathArgument: String, query: QueryParameters, headers: HTTPFields,
        mediaType: String, body: [UInt8], clientAddress: String, receivedAtMilliseconds: Int64
    ) {
        self.path = path
        self.pathArgument = pathArgument
        self.query = query
        self.headers = headers
        self.mediaType = mediaType
        self.body = body
        self.clientAddress = clientAddress
        self.receivedAtMilliseconds = receivedAtMilliseconds
    }

    /// The value of a header, by its name in lower case; nil when it is absent.
    package func header(_ name: String) -> String? {
        HTTPField.Name(name).flatMap { headers[$0] }
    }
}
