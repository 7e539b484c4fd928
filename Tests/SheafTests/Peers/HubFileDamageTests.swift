import Sheaf
import SheafAttachments
import SheafDocument
import SheafHub
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafStatements
import Testing

/// Tests of the reasons for which a hub refuses the objects of a file.
@Suite struct HubFileDamageTests {
    /// Chunks 0 and 1, 2 and 3, and 4 with nine bytes, in parts 0, 1 and 2.
    private static let file = SampleFile(seed: 21, length: 4 * 262_144 + 9)

    /// A change of an object: that of a part, or of the head.
    enum Damage: Sendable {
        case first(part: Int?), last(part: Int?), shorter(part: Int?), longer(part: Int?), headless

        var part: Int? {
            switch self {
            case .first(let part), .last(let part), .shorter(let part), .longer(let part): part
            case .headless: nil
            }
        }

        func apply(to bytes: inout [UInt8]) {
            switch self {
            case .first: bytes[0] ^= 1
            case .last: bytes[bytes.count - 1] ^= 1
            case .shorter: bytes.removeLast()
            case .longer: bytes.append(0)
            case .headless: bytes = Array(bytes.prefix(7))
            }
        }
    }

    private static let noMatch = "its length and hashes do not match the id in its name"

    @Test(
        arguments: [
            (.first(part: nil), nil), (.shorter(part: nil), nil), (.headless, nil),
            (.last(part: 0), "chunk 1 of the file has another hash"),
            (.first(part: 1), "chunk 2 of the file has another hash"),
            (.last(part: 1), "chunk 3 of the file has another hash"),
            (.first(part: 2), "chunk 4 of the file has another hash"),
            (.shorter(part: 1), "it has 524287 bytes in place of 524288"),
            (.shorter(part: 2), "it has 8 bytes in place of 9"),
        ] as [(Damage, String?)])
    func `each damage of an object is reported with the object and its reason`(
        _ damage: Damage, _ reason: String?
    ) throws {
        try check(damage, damage.part) { _ in reason ?? Self.noMatch }
    }

    @Test func `an object that is too long is reported with its limit`() throws {
        try check(.longer(part: 2), 2) { name in
            "the bytes of \(name), which is longer than 9 bytes, do not match its name"
        }
    }

    /// Damages an object of a file, and expects the reason that a hub reports once.
    private func check(
        _ damage: Damage, _ part: Int?, _ reason: (_ name: String) -> String
    ) throws {
        let file = Self.file
        var hubs = try FileHubs()
        try hubs.add(file, to: 2)
        try hubs.insert("a", file, by: 2)
        #expect(try hubs.run(seconds: 3) == [.put(file.id)])
        let name =
            part.map { HubObjectName.file(file.id, part: $0) } ?? HubObjectName.file(file.id)
        hubs.objects.damage(name) { damage.apply(to: &$0) }
        try hubs.end(2)
        try hubs.fetch(file, by: 3)
        let expected = SnapshotFailure.damaged(object: name, reason: reason(name))
        #expect(try hubs.run(seconds: 2) == [.failed(file.id, expected)])
        #expect(hubs.files[1]?.failure == expected)
    }
}
