#if Inspector
    import CMicroHTTPD
    import SheafSystem

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    /// A server of HTTP/1.1, by libmicrohttpd.
    ///
    /// One thread waits for all connections, reads requests and sends responses; it never runs a
    /// request. While a request runs, its connection is suspended.
    package final class HTTPServer: Sendable {
        private nonisolated(unsafe) let daemon: OpaquePointer
        private let context: ServerContext
        /// The port that the server listens on.
        package let port: UInt16

        /// Starts a server.
        package init(
            at address: ListeningAddress, _ handler: any HTTPHandler,
            limits: ServerLimits = ServerLimits()
        ) throws(InspectorError) {
            let context = try ServerContext(handler, limits)
            var callbacks = sheaf_http_callbacks(
                access: serverAccess, begin: serverBegin, complete: serverComplete,
                notify: serverNotify, owner: Unmanaged.passUnretained(context).toOpaque())
            let daemon = address.withSocketAddress { socketAddress in
                sheaf_http_start(
                    socketAddress, address.isIPv6 ? 1 : 0, UInt32(limits.connections),
                    UInt32(limits.seconds), limits.connectionBytes, &callbacks)
            }
            guard let daemon else {
                let reason = String(cString: strerror(errno))
                context.stopThreads()
                throw InspectorError(
                    "the server cannot listen on \(address.host):\(address.port): \(reason)")
            }
            self.daemon = daemon
            self.context = context
            port = sheaf_http_port(daemon)
        }

        /// Ends all connections and requests, and blocks until they have ended.
        ///
        /// It must be called exactly once.
        package func stop() {
            context.beginStopping()
            MHD_stop_daemon(daemon)
            context.stopThreads()
        }
    }
#endif
