import SheafAttachments
import SheafDocument
import SheafStorage
import SheafTestSupport
import Testing

/// The check of stored attachments against their ids.
struct AttachmentVerificationTests {
    private let volume = MemoryVolume()
    private let file = SampleFile(seed: 6, length: 530_000)
    private let start = 4_096

    private func findings() throws -> [Finding] {
        var findings: [Finding] = []
        let parent = ParentVolume(volume, isMade: true)
        let result = try AttachmentVerification.verify(parent) { findings.append($0) }
        #expect(result.findingCount == findings.count)
        #expect(result.isDamaged == findings.contains { $0.severity == .damage })
        return findings
    }

    private func flip(_ offset: Int, of name: String) throws {
        let file = try volume.open(name, .write)
        defer { file.close() }
        var bytes: [UInt8] = [0]
        try bytes.withUnsafeMutableBytes { try file.readFully(into: $0, at: offset) }
        bytes[0] ^= 0x40
        try file.writeFully(bytes, at: offset)
    }

    @Test func `files that match their ids have no finding`() throws {
        let store = AttachmentStore(volume)
        for file in SampleFile.all.dropLast() { _ = try store.add(file.bytes) }
        let incoming = try #require(try store.begin(file))
        try incoming.put(file.chunk(1), at: 1)
        try incoming.flush()
        try volume.write([1], to: "notes.whole")
        #expect(try findings().isEmpty)
        // The bytes of missing chunks mean nothing.
        try flip(start, of: "\(file.id).part")
        #expect(try findings().isEmpty)
    }

    @Test func `a wrong byte in any field or chunk of a complete file is found`() throws {
        let store = AttachmentStore(volume)
        _ = try store.add(file.bytes)
        let name = "\(file.id).whole"
        let offsets = [
            0, 8, 12, 16, 24, 80, 100, 192, start, start + 262_144, start + file.bytes.count - 1,
        ]
        for offset in offsets {
            try flip(offset, of: name)
            let findings = try findings()
            #expect(findings.count == 1, "byte \(offset)")
            #expect(findings.first?.severity == .damage)
            #expect(findings.first?.file == "attachments/\(name)")
            #expect(findings.first?.reason.hasPrefix("attachment \(file.id): ") == true)
            try flip(offset, of: name)
        }
        let opened = try volume.open(name, .write)
        try opened.truncate(to: start + file.bytes.count - 1)
        opened.close()
        #expect(try findings().map(\.offset) == [start + file.bytes.count - 1])
    }

    @Test func `a wrong stored chunk of a partial file is damage, and a wrong header a warning`()
        throws
    {
        let store = AttachmentStore(volume)
        let incoming = try #require(try store.begin(file))
        try incoming.put(file.chunk(1), at: 1)
        try incoming.flush()
        let name = "\(file.id).part"
        try flip(start + 262_144, of: name)
        #expect(try findings().map(\.severity) == [.damage])
        try flip(start + 262_144, of: name)
        try flip(100, of: name)
        #expect(try findings().map(\.severity) == [.warning])
    }
}
