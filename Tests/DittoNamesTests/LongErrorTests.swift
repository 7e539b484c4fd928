import DittoNames
import Foundation
import Sheaf
import SheafNetwork
import SheafTestSupport
import Testing

/// Limits on the length of quotations in errors for huge inputs.
struct LongErrorTests {
    private static let longest = 1_000
    private let huge = String(repeating: "e\u{301}", count: 36_000)

    private func check(_ error: any Error, _ what: String) {
        let length = "\(error)".unicodeScalars.count
        #expect(length <= Self.longest, "\(what): \(length)")
    }

    @Test func `a condition is quoted around the position of its error`() throws {
        let conditions = [
            "\(huge)", "a == '\(huge)", "\(huge)(a)", "a == 1 && \(huge) ==", "a == \(huge) b",
            "a ==\n\(huge) ==\n1", "$args.\(huge) == 1", "\(huge)§",
        ]
        for condition in conditions {
            do {
                var parser = try ConditionParser(condition, collection: "cars", arguments: [:])
                _ = try parser.condition()
            } catch { check(error, String(condition.prefix(20))) }
        }
        do {
            var parser = try ConditionParser(
                "\(String(repeating: "a", count: 500)) == 1 § 2", collection: "cars", arguments: [:]
            )
            _ = try parser.condition()
            Issue.record("an invalid condition was accepted")
        } catch {
            let lines = "\(error)".split(separator: "\n")
            let mark = try #require(lines[2].firstIndex(of: "^"))
            let column = lines[2].distance(from: lines[2].startIndex, to: mark)
            #expect(lines[1].dropFirst(column).first == "§", "\(error)")
        }
    }

    @Test func `values that cannot be stored are quoted in part`() async throws {
        let store = try await Ditto.inMemory().store
        for value: [String: Any?] in [
            [huge: Bundle.main], ["a": [huge: [huge: Bundle.main]]], ["a": Decimal.nan],
        ] {
            do {
                try await store.execute(
                    query: "INSERT INTO cars DOCUMENTS (:car)", arguments: ["car": value])
                Issue.record("an invalid value was accepted")
            } catch { check(error, "argument") }
        }
    }

    @Test func `JSON with a huge duplicate name is quoted in part`() {
        #expect(throws: JSONError.self) { try Value(json: "{\"\(huge)\":1,\"\(huge)\":2}") }
        do { _ = try Value(json: "{\"\(huge)\":1,\"\(huge)\":2}") } catch { check(error, "JSON") }
    }

    @Test func `network errors quote their input in part`() {
        check(NetworkError(.address, huge), "address")
        do { _ = try PeerKeyPair.load(from: huge) } catch { check(error, "key") }
    }

    @Test func `conditions and arguments are quoted up to 200 scalars`() async throws {
        let long = LongInput.text
        for condition in ["a == '\(long)' b", "a == 1 && '\(long)' '\(long)'", "a == 1 '\(long)'"] {
            do {
                var parser = try ConditionParser(condition, collection: "cars", arguments: [:])
                _ = try parser.condition()
                Issue.record("an invalid condition was accepted")
            } catch {
                let lines = "\(error)".split(separator: "\n")
                for line in lines.prefix(2) where line.contains(LongInput.character) {
                    #expect(LongInput.problem(in: String(line)) == nil)
                }
                let mark = try #require(lines[2].firstIndex(of: "^"))
                #expect(lines[2].distance(from: lines[2].startIndex, to: mark) < lines[1].count)
            }
        }
        let store = try await Ditto.inMemory().store
        for value: [String: Any?] in [
            [long: Bundle.main], ["a": [long: [long: Bundle.main]]],
        ] {
            do {
                try await store.execute(
                    query: "INSERT INTO cars DOCUMENTS (:car)", arguments: ["car": value])
                Issue.record("an invalid value was accepted")
            } catch { #expect(LongInput.problem(in: "\(error)") == nil) }
        }
    }

    @Test func `addresses and paths are quoted up to 200 scalars`() async throws {
        let long = LongInput.text
        let pair = try PeerKeyPair.generate()
        do {
            try pair.save(to: long)
            Issue.record("a key was written")
        } catch { #expect(LongInput.problem(in: "\(error)") == nil) }
        do {
            _ = try PeerKeyPair.load(from: long)
            Issue.record("a key was read")
        } catch { #expect(LongInput.problem(in: "\(error)") == nil) }
        var network = NetworkConfiguration(
            databaseID: "cars", keyPair: pair, identity: .development())
        network.peers = [long]
        do {
            _ = try TCPTransport(network)
            Issue.record("an invalid address was accepted")
        } catch { #expect(LongInput.problem(in: "\(error)") == nil) }
        do {
            _ = try await Store.open(at: long)
            Issue.record("a store was opened")
        } catch { #expect(LongInput.problem(in: "\(error)") == nil) }
    }

    @Test func `an address that is too long for an error is truncated`() throws {
        let host = String(repeating: "a", count: 250)
        var network = NetworkConfiguration(
            databaseID: "cars", keyPair: try PeerKeyPair.generate(), identity: .development())
        network.listening = ["\(host):1"]
        do {
            let transport = try TCPTransport(network)
            try transport.start(RecordingHost())
            Issue.record("a host name was accepted as a listening address")
        } catch let error as NetworkError {
            #expect(error.text.contains("aaaaaaaaaa") && error.text.contains("…"))
            #expect(error.text.count { $0 == "a" } <= 210)
        }
    }

    private final class RecordingHost: PeerTransportHost {
        func connected(_ connection: any PeerConnection) -> (any PeerConnectionHandler)? { nil }
        func report(_ event: PeerTransportEvent) {}
    }
}
