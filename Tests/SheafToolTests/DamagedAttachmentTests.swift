import Foundation
import Sheaf
import SheafDocument
import SheafStorage
import SheafTestSupport
import Testing

/// `sheaf verify` and `sheaf backup` on stores with damaged attachments.
@Suite struct DamagedAttachmentTests {
    private let directory = TemporaryDirectory()
    private let photo = [UInt8](repeating: 7, count: 600_000)

    private func run(_ words: String...) throws -> ToolRun { try ToolRun(words) }

    /// Adds the photo, a car that references it and another file to the store, which is created.
    ///
    /// Returns the id of the photo.
    @discardableResult
    private func addPhoto() async throws -> String {
        let store = try await Store.open(at: directory.path("store"))
        let token = try await store.newAttachment(data: photo).token
        _ = try await store.newAttachment(data: [1, 2, 3])
        try await store.execute(
            "INSERT INTO cars DOCUMENTS ({ '_id': 1, 'photo': :photo }) ON ID CONFLICT DO NOTHING",
            ["photo": token.value])
        try await store.close()
        return "\(token.id)"
    }

    /// Removes the only reference to the photo.
    private func deleteCar() async throws {
        let store = try await Store.open(at: directory.path("store"))
        try await store.execute("DELETE FROM cars")
        try await store.close()
    }

    private func attachments(of store: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path("\(store)/attachments"))
    }

    private func file(_ id: String, of store: String) -> String {
        directory.path("\(store)/attachments/\(id).whole")
    }

    /// Changes the last byte.
    private func damage(_ id: String, of store: String) throws {
        let handle = try #require(FileHandle(forUpdatingAtPath: file(id, of: store)))
        let end = try handle.seekToEnd()
        try handle.seek(toOffset: end - 1)
        try handle.write(contentsOf: Data([8]))
        try handle.close()
    }

    private func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: directory.path(name))
    }

    @Test func `verify names a damaged attachment, its file and its repairs, and both work`()
        async throws
    {
        let id = try await addPhoto()
        let path = directory.path("store")
        let intact = try run("verify", path)
        #expect(intact.status == 0 && intact.text.contains(", 2 attachments, "), "\(intact.text)")
        try damage(id, of: "store")
        let damaged = try run("verify", path)
        #expect(damaged.status == 3)
        let offset = 4_096 + 2 * 262_144
        let finding: String =
            "attachments/\(id).whole:\(offset): damage: attachment \(id): the bytes do not match the "
            + "hash of chunk 2; add the same content again, which replaces the file, or remove "
            + "this file while the store is closed, and fetch the attachment again from a peer "
            + "that has it"
        #expect(damaged.lines.first == finding)
        let objects = try run("verify", path, "--json").objects()
        #expect(objects.map { $0["type"] as? String } == ["finding", "summary"])
        #expect(objects.last?["damaged"] as? Bool == true)
        #expect(objects.last?["findings"] as? Int == 1)
        #expect(objects.last?["attachments"] as? Int == 2)

        try await addPhoto()
        #expect(try run("verify", path).status == 0)
        try damage(id, of: "store")
        try FileManager.default.removeItem(atPath: file(id, of: "store"))
        #expect(try run("verify", path).status == 0)
    }

    @Test func `no backup is made of a store with a damaged attachment until it is repaired`()
        async throws
    {
        let id = try await addPhoto()
        try damage(id, of: "store")
        let refused = try run("backup", directory.path("store"), directory.path("new"))
        #expect(refused.status == 3 && refused.output.isEmpty)
        #expect(
            refused.errors.contains("the store is damaged: attachments/\(id).whole:")
                && refused.errors.contains("; add the same content again"), "\(refused.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["store"])
        try await addPhoto()
        #expect(try run("backup", directory.path("store"), directory.path("new")).status == 0)
        #expect(try run("verify", directory.path("new")).status == 0)
        try damage(id, of: "new")
        #expect(try run("restore", directory.path("new"), directory.path("restored")).status == 3)
        #expect(!exists("restored"))
    }

    @Test func `an incremental backup takes each attachment from where it is intact`() async throws
    {
        let id = try await addPhoto()
        let store = directory.path("store")
        let (one, two) = (directory.path("one"), directory.path("two"))
        #expect(try run("backup", store, one).status == 0)
        // The earlier backup is damaged: the file is copied from the store.
        try damage(id, of: "one")
        let copied = try run("backup", store, two, "--since", one)
        #expect(copied.status == 0, "\(copied.errors)")
        #expect(try run("verify", two).status == 0)
        #expect(try run("verify", one).status == 3)
        // The store is damaged: the file is shared with the earlier backup.
        try damage(id, of: "store")
        let shared = try run("backup", store, directory.path("three"), "--since", two)
        #expect(shared.status == 0, "\(shared.errors)")
        #expect(try run("verify", directory.path("three")).status == 0)
        // Both are damaged.
        #expect(try run("backup", store, directory.path("four"), "--since", one).status == 3)
        #expect(!exists("four"))
    }

    @Test func `a damaged attachment that no document references is left out of a backup`()
        async throws
    {
        let id = try await addPhoto()
        try damage(id, of: "store")
        try await deleteCar()
        let (store, new) = (directory.path("store"), directory.path("new"))
        let note: String =
            "note: attachments/\(id).whole is damaged and left out, because no document "
            + "references it\n"
        let backup = try run("backup", store, new)
        #expect(backup.status == 0 && backup.errors == note, "\(backup.errors)")
        // Two segments and the intact attachment.
        #expect(backup.text.contains("in 3 files"), "\(backup.text)")
        #expect(try attachments(of: "new").count == 1)
        #expect(try run("verify", new).status == 0)
        // The next one shares the intact attachment, and names the damaged one again.
        let next = try run("backup", store, directory.path("next"), "--since", new, "--json")
        #expect(next.status == 0 && next.errors == note, "\(next.errors)")
        let result = try #require(try next.objects().first)
        #expect(result["omittedAttachments"] as? [String] == ["attachments/\(id).whole"])
        #expect(result["sharedFiles"] as? Int == 2)
        #expect(try attachments(of: "next") == attachments(of: "new"))
        // The public call returns the id.
        let opened = try await Store.open(at: store)
        let summary = try await opened.backup(to: directory.path("third"))
        #expect(summary.omittedAttachments.map { "\($0)" } == [id])
        #expect(summary.copiedFiles == 3)
        // A file that is added again is intact.
        _ = try await opened.newAttachment(data: photo)
        let whole = try await opened.backup(to: directory.path("fourth"))
        #expect(whole.omittedAttachments.isEmpty)
        #expect(try attachments(of: "fourth").count == 2)
        try await opened.close()
    }

    @Test func `an unreadable file blocks a backup only if a document references it`() async throws
    {
        let id = try await addPhoto()
        let (store, file) = (directory.path("store"), file(id, of: "store"))
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.createSymbolicLink(
            atPath: file, withDestinationPath: directory.path("elsewhere"))
        let refused = try run("backup", store, directory.path("new"))
        #expect(refused.status == 3)
        #expect(
            refused.errors.contains("attachments/\(id).whole:0: attachment \(id): "),
            "\(refused.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["store"])
        try await deleteCar()
        let backup = try run("backup", store, directory.path("new"))
        #expect(backup.status == 0 && backup.errors.hasPrefix("note: "), "\(backup.errors)")
        #expect(try attachments(of: "new").count == 1)
    }

    @Test func `notes name twenty damaged attachments and count the others`() async throws {
        try await addPhoto()
        let opened = try await Store.open(at: directory.path("store"))
        for number in 0..<22 {
            let id = try await opened.newAttachment(data: [UInt8(number), 2]).id
            try damage("\(id)", of: "store")
        }
        try await opened.close()
        let backup = try run("backup", directory.path("store"), directory.path("new"))
        #expect(backup.status == 0)
        let lines = backup.errors.split(separator: "\n")
        #expect(lines.count == 21)
        #expect(lines.last == "note: left out because of damage: 2 more attachments")
        #expect(try attachments(of: "new").count == 2)
    }
}
