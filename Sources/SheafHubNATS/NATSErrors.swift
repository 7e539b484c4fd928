#if NATS
    import CNATS
    import SheafHubLog

    extension HubLogError {
        /// Codes of JetStream (`errors.json` of its server) that have a meaning here.
        enum Code {
            static let noCluster: UInt32 = 10008
            static let noSpace: [UInt32] = [10023, 10047, 10077, 10122]
            static let noMessage: UInt32 = 10037
            static let noPlacement: UInt32 = 10005
            static let noReplicas: UInt32 = 10074
            static let notEnabled: [UInt32] = [10039, 10076]
            static let otherStream: UInt32 = 10058
            static let noStream: UInt32 = 10059
            /// The second one has no number in its text: another change was in flight.
            static let otherSequence: [UInt32] = [10071, 10164]
        }

        /// Creates an error from the results of a request.
        init(_ status: natsStatus, _ code: jsErrCode, _ text: String?, _ request: String) {
            let reason = text ?? String(cString: natsStatus_GetText(status))
            let number = code.rawValue
            if Code.noSpace.contains(number) {
                self = .full("\(request): \(reason) (\(number))")
            } else if number == Code.noMessage || number == Code.noStream {
                self = .missing("stream or message for: \(request) (\(number))")
            } else if number == Code.noCluster {
                self = .disconnected("\(request): the brokers have no leader (\(number))")
            } else if number == Code.noPlacement {
                // A broker may be away, or may not have joined yet.
                self = .disconnected("\(request): fewer brokers than replicas (\(number))")
            } else if number == Code.noReplicas {
                self = .refused(
                    "\(request): a broker without a cluster has one replica, and more are required "
                        + "(\(number))")
            } else if number != 0, number != Code.notEnabled[1] {
                self = .refused("\(request): \(reason) (\(number))")
            } else {
                self.init(status, reason, request)
            }
        }

        private init(_ status: natsStatus, _ reason: String, _ request: String) {
            switch status {
            case NATS_TIMEOUT: self = .timeout(request)
            case NATS_NOT_FOUND: self = .missing("stream or message for: \(request)")
            case NATS_NO_RESPONDERS:
                self = .disconnected("\(request): no broker serves the stream, or none leads it")
            case NATS_CONNECTION_CLOSED, NATS_CONNECTION_DISCONNECTED, NATS_NO_SERVER,
                NATS_IO_ERROR, NATS_STALE_CONNECTION, NATS_INSUFFICIENT_BUFFER,
                NATS_NOT_YET_CONNECTED:
                self = .disconnected("\(request): \(reason)")
            default: self = .refused("\(request): \(reason)")
            }
        }

        /// Whether the engine answered that there is no such stream, message or object.
        var isMissing: Bool {
            if case .missing = self { true } else { false }
        }

        /// Whether the same request may succeed later, without another cause.
        var isTransient: Bool {
            switch self {
            case .timeout, .disconnected: true
            default: false
            }
        }
    }
#endif
