#if NATS
    import CNATS
    import SheafHubLog
    import SheafSystem

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    /// A connection to the brokers, which is restored until it is closed, and its requests.
    final class NATSSession: Sendable {
        private struct Use {
            var count = 0
            var isClosed = false
        }

        /// Maximum number of messages that libnats accepts before they are acknowledged.
        static let pendingMessages = 8_192
        /// The signatures that brokers refuse before a connection fails.
        private static let signatures = 4

        private let use = Monitor(Use())
        // The library locks them; `use` prevents calls after they are destroyed.
        private nonisolated(unsafe) let connection: OpaquePointer
        private nonisolated(unsafe) let context: OpaquePointer
        let requestMilliseconds: Int64

        /// Connects to one of the brokers within the time limit of a request.
        init(_ configuration: NATSConfiguration, _ receiver: UInt) throws(HubLogError) {
            try configuration.check()
            requestMilliseconds = configuration.requestMilliseconds
            var options: OpaquePointer?
            guard natsOptions_Create(&options) == NATS_OK, let options else {
                throw .refused("the NATS library has no memory")
            }
            defer { natsOptions_Destroy(options) }
            try Self.set(options, configuration, receiver)
            let brokers = configuration.servers.map(EngineURL.withoutSecrets)
                .joined(separator: ", ")
            var connection: OpaquePointer?
            let status = Self.connect(&connection, options, configuration)
            guard status != NATS_INVALID_ARG else {
                // The text of the library may have a part of a password that is not encoded.
                throw .refused("\(brokers): a malformed URL; right is nats://HOST:PORT")
            }
            guard status == NATS_OK, let connection else {
                throw .disconnected("\(brokers): \(Self.lastError(status))")
            }
            var settings = jsOptions()
            jsOptions_Init(&settings)
            settings.Wait = requestMilliseconds
            settings.PublishAsync.MaxPending = Int64(Self.pendingMessages)
            settings.PublishAsync.StallWait = requestMilliseconds
            settings.PublishAsync.AckHandler = NATSCallbacks.acknowledged
            settings.PublishAsync.AckHandlerClosure = NATSCallbacks.closure(receiver)
            var context: OpaquePointer?
            let contextStatus = natsConnection_JetStream(&context, connection, &settings)
            guard contextStatus == NATS_OK, let context else {
                natsConnection_Destroy(connection)
                throw .refused("\(brokers): \(Self.lastError(contextStatus))")
            }
            self.connection = connection
            self.context = context
        }

        deinit { close() }

        /// Ends the connection; returns once no other thread uses it.
        ///
        /// The library may still call receivers that were not removed.
        func close() {
            let isFirst = use.withLock { use in
                defer { use.isClosed = true }
                return !use.isClosed
            }
            guard isFirst else { return }
            // Requests that wait end with an error.
            natsConnection_Close(connection)
            use.wait { $0.count > 0 }
            jsCtx_Destroy(context)
            natsConnection_Destroy(connection)
        }

        /// Calls `body` with the connection and its JetStream context; throws after `close`.
        func run<Value>(
            _ body: (_ connection: OpaquePointer, _ context: OpaquePointer) throws(HubLogError) ->
                Value
        ) throws(HubLogError) -> Value {
            let isOpen = use.withLock { use in
                if !use.isClosed { use.count += 1 }
                return !use.isClosed
            }
            guard isOpen else { throw .disconnected("the hub log was stopped") }
            defer {
                use.withLock { $0.count -= 1 }
                use.broadcast()
            }
            return try body(connection, context)
        }

        /// Whether a broker is connected now.
        var isConnected: Bool {
            let status = try? run { connection, _ in natsConnection_Status(connection) }
            return status == NATS_CONN_STATUS_CONNECTED
        }

        /// Sends a request to JetStream, and throws unless `body` returns success.
        func request(
            _ request: String,
            _ body: (_ context: OpaquePointer, _ code: UnsafeMutablePointer<jsErrCode>) ->
                natsStatus
        ) throws(HubLogError) {
            try run { (_, context) throws(HubLogError) in
                var code = jsErrCode(rawValue: 0)
                let status = body(context, &code)
                guard status == NATS_OK else {
                    throw HubLogError(
                        status, code, code.rawValue == 0 ? nil : Self.lastError(status), request)
                }
            }
        }

        /// Reads a message; nil if it or its stream does not exist.
        func message(
            _ request: String,
            _ body: (
                _ message: UnsafeMutablePointer<OpaquePointer?>, _ context: OpaquePointer,
                _ code: UnsafeMutablePointer<jsErrCode>
            ) -> natsStatus
        ) throws(HubLogError) -> NATSStoredMessage? {
            var message: OpaquePointer?
            do throws(HubLogError) {
                try self.request(request) { context, code in body(&message, context, code) }
            } catch {
                if error.isMissing { return nil }
                throw error
            }
            guard let message else { return nil }
            let owned = NATSMessage(message)
            return NATSStoredMessage(
                number: owned.sequence, bytes: owned.bytes,
                wallMilliseconds: owned.wallMilliseconds)
        }

        /// Sends a message without a guarantee.
        func publish(_ subject: String, _ bytes: [UInt8]) {
            // Failures are those of a connection that is being restored.
            _ = try? run { connection, _ in
                _ = natsConnection_Publish(connection, subject, bytes, Int32(bytes.count))
            }
        }

        /// Waits until the broker has received what was sent.
        func flush() throws(HubLogError) {
            try run { (connection, _) throws(HubLogError) in
                let status = natsConnection_FlushTimeout(connection, requestMilliseconds)
                guard status == NATS_OK else {
                    throw HubLogError(status, jsErrCode(rawValue: 0), nil, "flush")
                }
            }
        }

        /// Subscribes to a subject; messages go to the receiver with this number.
        func subscribe(
            _ subject: String, _ receiver: UInt, messages: Int32 = -1, bytes: Int32 = -1
        ) throws(HubLogError) -> OpaquePointer {
            try run { (connection, _) throws(HubLogError) in
                var subscription: OpaquePointer?
                let status = natsConnection_Subscribe(
                    &subscription, connection, subject, NATSCallbacks.received,
                    NATSCallbacks.closure(receiver))
                guard status == NATS_OK, let subscription else {
                    throw HubLogError(status, jsErrCode(rawValue: 0), nil, "subscribe")
                }
                _ = natsSubscription_SetPendingLimits(subscription, messages, bytes)
                return subscription
            }
        }

        /// Connects, again if a broker refuses a signature, which is another one each time.
        ///
        /// libnats 3.4 sends no signature whose first byte is zero: one of 256.
        private static func connect(
            _ connection: inout OpaquePointer?, _ options: OpaquePointer,
            _ configuration: NATSConfiguration
        ) -> natsStatus {
            guard case .file = configuration.credentials else {
                return natsConnection_Connect(&connection, options)
            }
            var status = NATS_OK
            for _ in 0..<signatures {
                status = natsConnection_Connect(&connection, options)
                if status != NATS_CONNECTION_AUTH_FAILED { break }
            }
            return status
        }

        private static func set(
            _ options: OpaquePointer, _ configuration: NATSConfiguration, _ receiver: UInt
        ) throws(HubLogError) {
            var pointers: [UnsafePointer<CChar>?] = configuration.servers.map {
                UnsafePointer(strdup($0))
            }
            defer { for pointer in pointers { free(UnsafeMutablePointer(mutating: pointer)) } }
            let closure = NATSCallbacks.closure(receiver)
            let milliseconds = configuration.requestMilliseconds
            try check("servers", natsOptions_SetServers(options, &pointers, Int32(pointers.count)))
            try check("name", natsOptions_SetName(options, "sheaf"))
            try check("time limit", natsOptions_SetTimeout(options, milliseconds))
            try check("time limit", natsOptions_SetWriteDeadline(options, milliseconds))
            // For ever, unless a broker refuses the credentials twice.
            try check("reconnecting", natsOptions_SetMaxReconnect(options, -1))
            try check("reconnecting", natsOptions_SetReconnectWait(options, 200))
            try check("requests", natsOptions_SetFailRequestsOnDisconnect(options, true))
            try check("pings", natsOptions_SetPingInterval(options, 2_000))
            try check("pings", natsOptions_SetMaxPingsOut(options, 2))
            try check("sending", natsOptions_SetSendAsap(options, true))
            try check("threads", natsOptions_UseGlobalMessageDelivery(options, true))
            try check(
                "callbacks",
                natsOptions_SetReconnectedCB(options, NATSCallbacks.reconnected, closure))
            try check(
                "callbacks",
                natsOptions_SetDisconnectedCB(options, NATSCallbacks.disconnected, closure))
            try check("callbacks", natsOptions_SetClosedCB(options, NATSCallbacks.closed, closure))
            // Without a handler the library prints to standard error.
            try check("callbacks", natsOptions_SetErrorHandler(options, { _, _, _, _ in }, nil))
            switch configuration.credentials {
            case .none: break
            case .file(let path):
                try check(
                    "the credentials \(path)",
                    natsOptions_SetUserCredentialsFromFiles(options, path, nil))
            case .user(let name, let password):
                try check("the user", natsOptions_SetUserInfo(options, name, password))
            case .token(let token):
                try check("the token", natsOptions_SetToken(options, token))
            }
            guard configuration.requiresEncryption else { return }
            // Otherwise the library encrypts only if the broker requires it.
            try check("TLS", natsOptions_SetSecure(options, true))
            guard let tls = configuration.tls else { return }
            if let path = tls.authorityFile {
                try check(
                    "the certificates \(path)",
                    natsOptions_LoadCATrustedCertificates(options, path))
            }
            if let path = tls.certificateFile, let key = tls.keyFile {
                try check(
                    "the certificate \(path) with the key \(key)",
                    natsOptions_LoadCertificatesChain(options, path, key))
            }
        }

        private static func check(_ option: String, _ status: natsStatus) throws(HubLogError) {
            guard status == NATS_OK else { throw .refused("\(option): \(lastError(status))") }
        }

        /// The text of the last error of the library on this thread.
        private static func lastError(_ status: natsStatus) -> String {
            let detail = nats_GetLastError(nil).map { String(cString: $0) } ?? ""
            return detail.isEmpty ? String(cString: natsStatus_GetText(status)) : detail
        }
    }
#endif
