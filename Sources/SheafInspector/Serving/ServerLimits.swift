/// Limits of the server.
package struct ServerLimits: Sendable {
    /// Maximum number of connections; further ones wait.
    package var connections = 64
    /// Time in which a client must send a complete request, and receive each part of a response.
    package var seconds = 10
    /// Maximum number of bytes of a request line and header.
    package var headerBytes = 32 << 10
    /// Maximum number of bytes of a body.
    package var bodyBytes = 1 << 20
    /// Time without a commit after which a comment is sent to the clients of changes.
    ///
    /// A client that has gone is only noticed when bytes are sent to it; a browser leaves one with
    /// each reload of the page, and there are few clients at a time.
    package var silenceSeconds = 2
    /// Number of threads that run requests.
    package var threads = 4

    package init() {}

    /// Maximum number of statements that run at once, so that other requests have a thread.
    package var statements: Int { max(1, threads - 1) }

    /// Memory of a connection, for the header of its request and that of the response.
    ///
    /// Each parameter and cookie of a request takes many more bytes in memory than in the header.
    package var connectionBytes: Int { 8 * headerBytes }
}
