package import SheafHubLog

extension HubLogError {
    /// Codes of JetStream (`errors.json` of its server) that have a meaning here.
    enum Code {
        static let noCluster: UInt32 = 10008
        static let noSpace: [UInt32] = [10023, 10047, 10077, 10122]
        static let noMessage: UInt32 = 10037
        static let noPlacement: UInt32 = 10005
        static let noReplicas: UInt32 = 10074
        static let notEnabled: UInt32 = 10076
        static let otherStream: UInt32 = 10058
        static let noStream: UInt32 = 10059
        /// The second one has no number in its text: another change was in flight.
        static let otherSequence: [UInt32] = [10071, 10164]
    }

    /// Creates the error of a code of JetStream; nil if the status of the request decides.
    package init?(code: UInt32, _ reason: String, _ request: String) {
        switch code {
        case 0, Code.notEnabled: return nil
        case _ where Code.noSpace.contains(code): self = .full("\(request): \(reason) (\(code))")
        case Code.noMessage, Code.noStream:
            self = .missing("stream or message for: \(request) (\(code))")
        case Code.noCluster:
            self = .disconnected("\(request): the brokers have no leader (\(code))")
        // A broker may be away, or may not have joined yet.
        case Code.noPlacement:
            self = .disconnected("\(request): fewer brokers than replicas (\(code))")
        case Code.noReplicas:
            self = .refused(
                "\(request): a broker without a cluster has one replica, and more are required "
                    + "(\(code))")
        default: self = .refused("\(request): \(reason) (\(code))")
        }
    }

    /// Whether the engine answered that there is no such stream, message or object.
    package var isMissing: Bool {
        if case .missing = self { true } else { false }
    }

    /// Whether the same request may succeed later, without another cause.
    package var isTransient: Bool {
        switch self {
        case .timeout, .disconnected: true
        default: false
        }
    }
}
