import SheafBytes
import SheafHubLog
import SheafHubNATS
import Testing

/// Tests of the names of streams and subjects, which need no broker.
@Suite struct NATSNamesTests {
    private let names = NATSNames(
        NATSConfiguration(servers: [], database: .init(low: 3, high: 4), prefix: "sheaf_2"))
    private let log = HubLogID(low: 1, high: 0xAB)
    private let stream = "SHEAF_2-00000000000000040000000000000003"
    private let subject = "sheaf_2.00000000000000040000000000000003"
    private let digits = "00000000000000ab0000000000000001"

    @Test func `each name has the prefix and the database`() {
        let shard = HubShard(7, of: log)
        #expect(names.stream(of: shard) == "\(stream)-\(digits)-7")
        #expect(names.streams(of: log) == "\(stream)-\(digits)-")
        #expect(names.objects == "\(stream)-OBJECTS")
        #expect(names.bucket == stream && names.bucketStream == "KV_\(stream)")
        #expect(names.subject(of: shard) == "\(subject).\(digits).7")
        #expect(names.subjects(of: log) == "\(subject).\(digits).*")
        #expect(names.subjectsOfLogs == "\(subject).*.*")
        #expect(names.broadcasts == "\(subject).all")
        #expect(names.subject(ofKey: "config") == "$KV.\(stream).config")
        #expect(names.objectSubjects == "\(subject).o.>")
        #expect(names.objectEnds == "\(subject).o.*.end")
        #expect(names.subjects(ofObject: "a/1") == "\(subject).o.a/1.>")
        #expect(names.end(ofObject: "a/1") == "\(subject).o.a/1.end")
        #expect(
            names.chunk(3, ofObject: "a/1", contents: log) == "\(subject).o.a/1.\(digits).3")
    }

    @Test func `a shard is found by the name of its stream, and by no other name`() {
        for number in [0, 7, 255, 65_535] as [UInt16] {
            let shard = HubShard(number, of: log)
            #expect(names.shard(ofStream: "\(stream)-\(digits)-\(number)") == shard)
        }
        let other = "SHEAF_2-00000000000000040000000000000009"
        for name in [
            "", stream, "\(stream)-OBJECTS", "\(stream)-\(digits)", "\(stream)-\(digits)-",
            "\(stream)-\(digits)-07", "\(stream)-\(digits)-+7", "\(stream)-\(digits)-65536",
            "\(stream)-\(digits)-7-1", "\(stream)-\(digits.uppercased())-7",
            "\(stream)-\(digits.dropFirst())-7", "\(stream)-\(digits)0-7", "\(stream)--7",
            "\(other)-\(digits)-7", "KV_\(stream)",
        ] {
            #expect(names.shard(ofStream: name) == nil, "\(name)")
        }
    }

    @Test func `an object is found by the subject of its end`() {
        for name in ["config", "part/1", "end"] {
            #expect(names.object(ofEnd: "\(subject).o.\(name).end") == name)
        }
        for end in [
            "", "end", ".end", "\(subject).o.a.1", "\(subject).o.a.ends", "\(subject).x.a.end",
            "\(subject).o.b.a.end", "x\(subject).o.a.end", "\(subject).end",
        ] {
            #expect(names.object(ofEnd: end) == nil, "\(end)")
        }
    }

    @Test func `the name of an object has 1 to 200 letters, digits and three marks`() {
        func isValid(_ name: String) -> Bool { (try? NATSNames.check(name)) != nil }
        let valid = Set(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_".utf8)
        for byte in UInt8(0)..<0x80 {
            let name = "a" + String(UnicodeScalar(byte))
            #expect(isValid(name) == valid.contains(byte), "byte \(byte)")
        }
        for (count, isName) in [(0, false), (1, true), (200, true), (201, false)] {
            #expect(isValid(String(repeating: "n", count: count)) == isName)
        }
        let long = String(repeating: "n", count: 200)
        let error = HubLogError.refused(
            "the object name \(long); it has 1 to 200 letters, digits and /-_")
        #expect(throws: error) { try NATSNames.check(long + "é") }
    }
}
