#if !Inspector
    /// The server of a build without libmicrohttpd, which never starts.
    package final class HTTPServer: Sendable {
        /// The port that the server listens on.
        package let port: UInt16 = 0

        package init(
            at address: ListeningAddress, _ handler: any HTTPHandler,
            limits: ServerLimits = ServerLimits()
        ) throws(InspectorError) {
            throw InspectorError(
                "this program was built without the inspector; build it with the package trait "
                    + "Inspector")
        }

        /// Does nothing.
        package func stop() {}
    }
#endif
