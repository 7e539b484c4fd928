#if NATS
    import SheafSystem
    import SheafTestSupport

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    /// A broker of NATS in this process, for one client: it records messages instead of storing
    /// them, and acknowledges those that ask for it.
    final class BrokerDouble: Sendable {
        struct Message: Equatable, Sendable {
            let subject: String
            let header: String
            let bytes: [UInt8]
        }

        struct State: Sendable {
            var published: [Message] = []
            /// Whether messages that ask for an acknowledgment are refused.
            var isFull = false
            /// Number of subscriptions that the client has begun.
            fileprivate(set) var subscriptionCount = 0
            /// Number of subscriptions that the client has ended.
            fileprivate(set) var endedCount = 0
            /// Whether a client is connected.
            var isConnected: Bool { client >= 0 }
            /// Whether pings after the first subscription are not answered.
            fileprivate var isSilent = false
            /// Whether acknowledgments are held back, and the held ones.
            fileprivate var holdsAnswers = false
            fileprivate var heldAnswers: [String] = []
            fileprivate var stored = 0
            /// Number of clients whose signatures are still refused.
            fileprivate(set) var refusalCount = 0
            /// The numbers of subscriptions by their subjects.
            fileprivate var subscriptions: [String: String] = [:]
            /// The connection of the client.
            fileprivate var client: Int32 = -1
            fileprivate var isStopped = false
        }

        struct Refused: Error {
            let code: Int32
        }

        let port: UInt16
        private let listener: Int32
        private let state: Monitor<State>
        private let thread: Thread

        /// Creates a broker that refuses the signatures of the first `refusals` clients.
        init(refusals: Int = 0) throws {
            let listener = Loopback.socket()
            var address = Loopback.address(port: 0)
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isListening = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(listener, $0, length) == 0 && listen(listener, 8) == 0
                        && getsockname(listener, $0, &length) == 0
                }
            }
            guard isListening else {
                _ = close(listener)
                throw Refused(code: errno)
            }
            let state = Monitor(State(refusalCount: refusals))
            let port = UInt16(bigEndian: address.sin_port)
            thread = try Thread(name: "sheaf-test-broker") { Self.run(listener, port, state) }
            (self.listener, self.port, self.state) = (listener, port, state)
        }

        var current: State { state.withLock { $0 } }

        func refuse() { state.withLock { $0.isFull = true } }

        /// Answers no ping after the first subscription.
        func becomeSilent() { state.withLock { $0.isSilent = true } }

        /// Lets acknowledgments wait, or sends those that wait with the next message.
        func holdAnswers(_ isHolding: Bool) { state.withLock { $0.holdsAnswers = isHolding } }

        /// Waits for messages; returns whether `predicate` holds within a minute.
        func waits(for predicate: (State) -> Bool) -> Bool {
            let deadline = Clock.system.monotonicNanoseconds() + 60_000_000_000
            return state.wait(until: deadline, while: { !predicate($0) })
        }

        /// Ends the connection of the client, and the broker.
        func stop() {
            let both = Int32(SHUT_RDWR)
            state.withLock { state in
                state.isStopped = true
                if state.client >= 0 { _ = shutdown(state.client, both) }
            }
            _ = shutdown(listener, both)
            thread.join()
            _ = close(listener)
        }

        // MARK: The thread

        private static func run(_ listener: Int32, _ port: UInt16, _ state: Monitor<State>) {
            while true {
                #if canImport(Glibc)
                    let client = Glibc.accept(listener, nil, nil)
                #elseif canImport(Musl)
                    let client = Musl.accept(listener, nil, nil)
                #else
                    let client = Darwin.accept(listener, nil, nil)
                #endif
                guard client >= 0 else { return }
                let isStopped = state.withLock { state in
                    (state.client, state.subscriptions) = (client, [:])
                    return state.isStopped
                }
                if !isStopped { serve(client, port, state) }
                state.withLock { state in
                    // Its number may belong to another connection from now on.
                    _ = close(client)
                    state.client = -1
                }
                state.broadcast()
                if isStopped { return }
            }
        }

        private static func serve(_ client: Int32, _ port: UInt16, _ state: Monitor<State>) {
            answer(
                """
                INFO {"server_id":"double","version":"2.12.0","proto":1,"headers":true,\
                "max_payload":1048576,"jetstream":true,"host":"127.0.0.1","port":\(port),\
                "nonce":"jDSCvBGO6pbX1Lo"}\r\n
                """, to: client)
            var unread: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = recv(client, &part, part.count, 0)
                guard count > 0 else { return }
                unread += part[..<count]
                if unread.contains(0x0A), refuses(state) {
                    return answer("-ERR 'Authorization Violation'\r\n", to: client)
                }
                while let length = perform(unread, of: client, state) { unread.removeFirst(length) }
            }
        }

        /// Whether the signature of a client is refused.
        private static func refuses(_ state: Monitor<State>) -> Bool {
            state.withLock { state in
                defer { state.refusalCount = max(state.refusalCount - 1, 0) }
                return state.refusalCount > 0
            }
        }

        /// Performs the first command; returns its length, or nil if it is not complete.
        private static func perform(
            _ bytes: [UInt8], of client: Int32, _ state: Monitor<State>
        ) -> Int? {
            guard let end = bytes.firstIndex(of: 0x0A) else { return nil }
            let line = String(decoding: bytes[..<end], as: UTF8.self)
            let words = line.split(whereSeparator: { " \r".contains($0) }).map(String.init)
            switch words.first {
            case "PING":
                let isIgnored = state.withLock { $0.isSilent && $0.subscriptionCount > 0 }
                if !isIgnored { answer("PONG\r\n", to: client) }
            case "SUB":
                state.withLock { state in
                    state.subscriptions[words[1]] = words[words.count - 1]
                    state.subscriptionCount += 1
                }
                state.broadcast()
            case "UNSUB": state.withLock { $0.endedCount += 1 }
            case "PUB", "HPUB":
                let total = Int(words[words.count - 1]) ?? 0
                let next = end + 1 + total + 2
                guard bytes.count >= next else { return nil }
                let hasHeader = words[0] == "HPUB"
                let header = hasHeader ? Int(words[words.count - 2]) ?? 0 : 0
                let body = bytes[(end + 1)..<(end + 1 + total)]
                let message = Message(
                    subject: words[1],
                    header: String(decoding: body.prefix(header), as: UTF8.self),
                    bytes: Array(body.dropFirst(header)))
                let reply = words.count == (hasHeader ? 5 : 4) ? words[2] : nil
                record(message, reply, of: client, state)
                return next
            default: break
            }
            return end + 1
        }

        private static func record(
            _ message: Message, _ reply: String?, of client: Int32, _ state: Monitor<State>
        ) {
            let lines: [String] = state.withLock { state in
                state.published.append(message)
                if let reply, let line = acknowledgment(reply, &state) {
                    state.heldAnswers.append(line)
                }
                guard !state.holdsAnswers else { return [] }
                defer { state.heldAnswers = [] }
                return state.heldAnswers
            }
            if !lines.isEmpty { answer(lines.joined(), to: client) }
            state.broadcast()
        }

        /// Returns the acknowledgment of a message; nil if the client does not wait for one.
        private static func acknowledgment(_ reply: String, _ state: inout State) -> String? {
            // An inbox ends with a wildcard.
            let found = state.subscriptions.first { subject, _ in
                subject == reply
                    || subject.hasSuffix("*") && reply.hasPrefix(subject.dropLast())
            }
            guard let number = found?.value else { return nil }
            if !state.isFull { state.stored += 1 }
            let text =
                state.isFull
                ? #"{"error":{"code":503,"err_code":10077,"description":"no room"}}"#
                : #"{"stream":"S","seq":\#(state.stored)}"#
            return "MSG \(reply) \(number) \(text.utf8.count)\r\n\(text)\r\n"
        }

        private static func answer(_ text: String, to client: Int32) {
            let bytes = Array(text.utf8)
            #if canImport(Darwin)
                _ = Darwin.send(client, bytes, bytes.count, 0)
            #elseif canImport(Musl)
                _ = Musl.send(client, bytes, bytes.count, MSG_NOSIGNAL)
            #else
                _ = Glibc.send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            #endif
        }
    }
#endif
