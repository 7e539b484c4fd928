#if Inspector
    import CMicroHTTPD
    import Synchronization

    /// A request on a connection, and its response.
    ///
    /// The thread of all connections owns it, except that `response` is set by the running request
    /// while the connection is suspended.
    final class HTTPExchange: Sendable {
        enum Phase: Sendable {
            /// Only the target is known.
            case begun
            /// The header has arrived, and the body is arriving.
            case receiving(HTTPRequest)
            /// The request runs.
            case running
            case answered(HTTPResponse)
            case sent
        }

        /// The target of the request line, undecoded.
        let target: [UInt8]
        private let phase = Mutex(Phase.begun)

        init(target: [UInt8]) {
            self.target = target
        }

        /// Sets the response of a running request.
        func answer(_ response: HTTPResponse) {
            phase.withLock { $0 = .answered(response) }
        }

        /// Handles an event of the request: its header, a part of its body, its end, or the answer.
        func handle(
            _ method: String, _ part: UnsafeBufferPointer<UInt8>?, on connection: OpaquePointer,
            _ context: ServerContext
        ) -> MHD_Result {
            let before = phase.withLock { phase in
                defer { if case .receiving = phase { phase = .running } }
                return phase
            }
            switch before {
            case .begun:
                let request = HTTPRequest(
                    method: method, target: target, header: Self.header(of: connection))
                guard let refusal = context.handler.refusal(of: request) else {
                    phase.withLock { $0 = .receiving(request) }
                    return sheaf_http_yes
                }
                return send(refusal, on: connection, context)
            case .receiving(var request):
                guard let part else { return run(request, on: connection, context) }
                // The server has accepted the announced length, which libmicrohttpd enforces.
                guard part.count <= context.limits.bodyBytes - request.body.count else {
                    return sheaf_http_no
                }
                request.body += part
                phase.withLock { $0 = .receiving(request) }
                return sheaf_http_yes
            case .answered(let response): return send(response, on: connection, context)
            case .running, .sent: return sheaf_http_no
            }
        }

        private func run(
            _ request: HTTPRequest, on connection: OpaquePointer, _ context: ServerContext
        ) -> MHD_Result {
            context.deadlines.end(sheaf_http_socket(connection))
            nonisolated(unsafe) let connection = connection
            // The task retains this exchange until it has called `ended`.
            let isRunning = context.begin(
                ObjectIdentifier(self), suspend: { MHD_suspend_connection(connection) }
            ) { [self, context] in
                answer(await context.handler.answer(request))
                MHD_resume_connection(connection)
                context.ended(ObjectIdentifier(self))
            }
            return isRunning ? sheaf_http_yes : sheaf_http_no
        }

        private func send(
            _ response: HTTPResponse, on connection: OpaquePointer, _ context: ServerContext
        ) -> MHD_Result {
            context.deadlines.end(sheaf_http_socket(connection))
            phase.withLock { $0 = .sent }
            let created =
                switch response.body {
                case .bytes(var bytes):
                    bytes.withUnsafeMutableBytes {
                        MHD_create_response_from_buffer(
                            $0.count, $0.baseAddress, sheaf_http_copy)
                    }
                case .stream(let stream): StreamSender.response(stream, on: connection, context)
                }
            guard let created else { return sheaf_http_no }
            defer { MHD_destroy_response(created) }
            MHD_add_response_header(created, "Content-Type", response.contentType)
            for field in HTTPResponse.commonFields + response.fields {
                MHD_add_response_header(created, field.name, field.value)
            }
            return MHD_queue_response(connection, UInt32(response.status), created)
        }

        private static func header(
            of connection: OpaquePointer
        ) -> [(name: String, value: String)] {
            var fields: [(name: String, value: String)] = []
            withUnsafeMutablePointer(to: &fields) { fields in
                _ = MHD_get_connection_values_n(
                    connection, sheaf_http_header,
                    { owner, _, name, nameCount, value, valueCount in
                        owner?.assumingMemoryBound(to: [(name: String, value: String)].self)
                            .pointee.append(
                                (
                                    HTTPExchange.text(name, nameCount),
                                    HTTPExchange.text(value, valueCount)
                                ))
                        return sheaf_http_yes
                    }, fields)
            }
            return fields
        }

        private static func text(_ start: UnsafePointer<CChar>?, _ count: Int) -> String {
            String(
                decoding: UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count),
                as: UTF8.self)
        }
    }

    /// The sender of a body that grows, for one response.
    private final class StreamSender: Sendable {
        private let stream: StreamBody
        private nonisolated(unsafe) let connection: OpaquePointer
        private let context: ServerContext

        private init(
            _ stream: StreamBody, _ connection: OpaquePointer, _ context: ServerContext
        ) {
            self.stream = stream
            self.connection = connection
            self.context = context
        }

        static func response(
            _ stream: StreamBody, on connection: OpaquePointer, _ context: ServerContext
        ) -> OpaquePointer? {
            guard context.add(stream) else {
                stream.close()
                return nil
            }
            let sender = StreamSender(stream, connection, context)
            let retained = Unmanaged.passRetained(sender)
            let response = MHD_create_response_from_callback(
                sheaf_http_unknown_size, 16 << 10,
                { owner, _, buffer, count in
                    guard let owner, let buffer else { return sheaf_http_end_with_error }
                    return Unmanaged<StreamSender>.fromOpaque(owner).takeUnretainedValue().read(
                        into: UnsafeMutableRawBufferPointer(start: buffer, count: count))
                }, retained.toOpaque(),
                { owner in
                    guard let owner else { return }
                    Unmanaged<StreamSender>.fromOpaque(owner).takeRetainedValue().close()
                })
            if response == nil { retained.takeRetainedValue().close() }
            return response
        }

        private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            let step = stream.read(into: buffer) { [connection] in
                nonisolated(unsafe) let connection = connection
                MHD_suspend_connection(connection)
                return { MHD_resume_connection(connection) }
            }
            return switch step {
            case .bytes(let count): count
            case .waiting: 0
            case .ended: sheaf_http_end_of_stream
            }
        }

        private func close() {
            context.remove(stream)
            stream.close()
        }
    }
#endif
