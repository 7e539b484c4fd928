import DittoNames
import Foundation
import Sheaf
import SheafNetwork
import SheafTestSupport
import Testing

/// What errors quote of huge inputs, in the calls of the reference system.
struct LongErrorTests {
    private static let longest = 1_000
    private let huge = String(repeating: "e\u{301}", count: 36_000)

    private func check(_ error: any Error, _ what: String) {
        let length = "\(error)".unicodeScalars.count
        #expect(length <= Self.longest, "\(what): \(length)")
    }

    @Test func `conditions are quoted around the place of the mistake`() throws {
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
            Issue.record("the condition was taken")
        } catch {
            let lines = "\(error)".split(separator: "\n")
            let mark = try #require(lines[2].firstIndex(of: "^"))
            let column = lines[2].distance(from: lines[2].startIndex, to: mark)
            #expect(lines[1].dropFirst(column).first == "§", "\(error)")
        }
    }

    @Test func `values without a counterpart are quoted in part`() async throws {
        let store = try await Ditto.inMemory().store
        for value: [String: Any?] in [
            [huge: Bundle.main], ["a": [huge: [huge: Bundle.main]]], ["a": Decimal.nan],
        ] {
            do {
                try await store.execute(
                    query: "INSERT INTO cars DOCUMENTS (:car)", arguments: ["car": value])
                Issue.record("the value was taken")
            } catch { check(error, "argument") }
        }
    }

    @Test func `JSON with a huge name that comes twice is quoted in part`() {
        #expect(throws: JSONError.self) { try Value(json: "{\"\(huge)\":1,\"\(huge)\":2}") }
        do { _ = try Value(json: "{\"\(huge)\":1,\"\(huge)\":2}") } catch { check(error, "JSON") }
    }

    @Test func `errors of the network are quoted in part`() {
        check(NetworkError(.address, huge), "address")
        do { _ = try PeerKeyPair.load(from: huge) } catch { check(error, "key") }
    }
}
