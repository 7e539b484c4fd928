#if NATS
    import CNATS
    import SheafHubLog
    import Synchronization

    /// An object that libnats calls, on threads of the library.
    protocol NATSReceiver: AnyObject, Sendable {
        /// A message of a subscription arrived.
        func received(_ message: borrowing NATSMessage)
        /// A published message, by its address, was stored as an entry, or was not acknowledged.
        func acknowledged(_ message: UInt, _ result: Result<UInt64, HubLogError>)
        /// The connection was restored.
        func reconnected()
        /// The connection was lost.
        func disconnected(_ error: HubLogError)
    }

    extension NATSReceiver {
        func received(_ message: borrowing NATSMessage) {}
        func acknowledged(_ message: UInt, _ result: Result<UInt64, HubLogError>) {}
        func reconnected() {}
        func disconnected(_ error: HubLogError) {}
    }

    /// The objects that libnats may call, by the numbers that it has for them.
    ///
    /// The library does not report its last call, so it never has a pointer to an object.
    enum NATSCallbacks {
        private struct State {
            var next: UInt = 1
            var receivers: [UInt: any NATSReceiver] = [:]
        }

        private static let state = Mutex(State())

        /// Adds a receiver, which is retained until `remove`; returns its number.
        static func add(_ receiver: any NATSReceiver) -> UInt {
            state.withLock { state in
                defer { state.next += 1 }
                state.receivers[state.next] = receiver
                return state.next
            }
        }

        /// Removes a receiver; a call that has begun may still last.
        static func remove(_ number: UInt) {
            state.withLock { _ = $0.receivers.removeValue(forKey: number) }
        }

        private static func receiver(_ closure: UnsafeMutableRawPointer?) -> (any NATSReceiver)? {
            let number = UInt(bitPattern: closure)
            return state.withLock { $0.receivers[number] }
        }

        /// The argument of the library for a receiver.
        static func closure(_ number: UInt) -> UnsafeMutableRawPointer? {
            UnsafeMutableRawPointer(bitPattern: number)
        }

        static var received: natsMsgHandler {
            { _, _, message, closure in
                guard let message else { return }
                // The message is destroyed also if its receiver was removed.
                let owned = NATSMessage(message)
                NATSCallbacks.receiver(closure)?.received(owned)
            }
        }

        static var reconnected: natsConnectionHandler {
            { _, closure in NATSCallbacks.receiver(closure)?.reconnected() }
        }

        static var disconnected: natsConnectionHandler {
            { connection, closure in
                guard let receiver = NATSCallbacks.receiver(closure) else { return }
                receiver.disconnected(
                    .disconnected(NATSCallbacks.reason(connection, "the connection ended")))
            }
        }

        /// The handler of a connection that the library does not restore.
        static var closed: natsConnectionHandler {
            { connection, closure in
                guard let receiver = NATSCallbacks.receiver(closure) else { return }
                receiver.disconnected(
                    .refused(NATSCallbacks.reason(connection, "the connection was closed")))
            }
        }

        private static func reason(_ connection: OpaquePointer?, _ none: String) -> String {
            var text: UnsafePointer<CChar>?
            guard let connection else { return none }
            _ = natsConnection_GetLastError(connection, &text)
            let error = text.map { String(cString: $0) } ?? ""
            return error.isEmpty ? none : "\(none): \(error)"
        }

        static var acknowledged: jsPubAckHandler {
            { _, message, acknowledgment, failure, closure in
                guard let message else { return }
                let receiver = NATSCallbacks.receiver(closure)
                let result: Result<UInt64, HubLogError>
                if let acknowledgment {
                    result = .success(acknowledgment.pointee.Sequence)
                } else if let failure {
                    let text = failure.pointee.ErrText.map { String(cString: $0) }
                    result = .failure(
                        HubLogError(
                            failure.pointee.Err, failure.pointee.ErrCode, text, "append a message"))
                } else {
                    result = .failure(.refused("append a message: neither stored nor refused"))
                }
                // First, because the next message may have the same address.
                receiver?.acknowledged(UInt(bitPattern: message), result)
                natsMsg_Destroy(message)
            }
        }
    }

    /// A message that was read from a stream.
    struct NATSStoredMessage {
        let number: UInt64
        let bytes: [UInt8]
        let wallMilliseconds: UInt64
    }

    /// A message of libnats, destroyed with this value.
    struct NATSMessage: ~Copyable {
        private let pointer: OpaquePointer

        init(_ pointer: OpaquePointer) {
            self.pointer = pointer
        }

        deinit { natsMsg_Destroy(pointer) }

        var length: Int { Int(natsMsg_GetDataLength(pointer)) }

        var bytes: [UInt8] {
            guard length > 0, let data = natsMsg_GetData(pointer) else { return [] }
            return Array(UnsafeRawBufferPointer(start: data, count: length))
        }

        /// The subject for replies; nil if there is none.
        var reply: String? {
            natsMsg_GetReply(pointer).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        }

        /// The number of a message that was read from a stream.
        var sequence: UInt64 { natsMsg_GetSequence(pointer) }

        /// The time at which a stream stored it; zero for other messages.
        var wallMilliseconds: UInt64 { UInt64(max(natsMsg_GetTime(pointer), 0)) / 1_000_000 }

        func header(_ name: String) -> String? {
            var value: UnsafePointer<CChar>?
            guard natsMsgHeader_Get(pointer, name, &value) == NATS_OK else { return nil }
            return value.map { String(cString: $0) }
        }
    }
#endif
