import SheafHubLog
import SheafHubNATS
import Testing

/// Tests of the errors for codes of JetStream, which need no broker.
@Suite struct NATSCodesTests {
    @Test func `a code of JetStream is an error with its request and its number`() {
        func error(_ code: UInt32) -> HubLogError? { HubLogError(code: code, "reason", "ask") }
        // The status of the request decides.
        #expect(error(0) == nil && error(10076) == nil)
        for code in [10023, 10047, 10077, 10122] as [UInt32] {
            #expect(error(code) == .full("ask: reason (\(code))"))
        }
        for code in [10037, 10059] as [UInt32] {
            #expect(error(code) == .missing("stream or message for: ask (\(code))"))
        }
        #expect(error(10008) == .disconnected("ask: the brokers have no leader (10008)"))
        #expect(error(10005) == .disconnected("ask: fewer brokers than replicas (10005)"))
        #expect(
            error(10074)
                == .refused(
                    "ask: a broker without a cluster has one replica, and more are required "
                        + "(10074)"))
        for code in [1, 10004, 10039, 10058, 10071, 10075, 10164] as [UInt32] {
            #expect(error(code) == .refused("ask: reason (\(code))"))
        }
    }

    @Test func `a missing stream is no other error, and requests without an answer are repeated`() {
        let errors: [(HubLogError, isMissing: Bool, isTransient: Bool)] = [
            (.unsupported(trait: "NATS"), false, false), (.disconnected("a"), false, true),
            (.timeout("a"), false, true), (.full("a"), false, false), (.missing("a"), true, false),
            (.damaged("a"), false, false), (.refused("a"), false, false),
        ]
        for (error, isMissing, isTransient) in errors {
            #expect(error.isMissing == isMissing && error.isTransient == isTransient, "\(error)")
        }
    }
}
