import SheafAttachments
import SheafDocument
import SheafReplication
import SheafTestSupport

/// Files that the peers of a mesh add, and fetch from each other.
extension MeshSimulation {
    /// Adds a file, fetches one of another peer, or cancels a fetch.
    func actOnFiles(_ peer: MeshPeer) throws {
        guard var random = fileRandom else { return }
        defer { fileRandom = random }
        switch random.below(6) {
        case 0 where files.count < 6:
            let length = [0, 1, 5_000, 262_144, 262_145, 600_000][random.below(6)]
            let first = UInt8(truncatingIfNeeded: files.count)
            // All files differ, except empty ones.
            let bytes = [UInt8](repeating: first, count: length)
            let id = try peer.attachments.add(bytes)
            if !files.contains(id) { files.append(id) }
            report.files += 1
            peer.replicator.processPublished()
        case 1..<5 where !files.isEmpty:
            let id = files[random.below(files.count)]
            guard try !peer.attachments.has(id) else { break }
            report.fetches += 1
            peer.wantedFiles.insert(id)
            peer.replicator.fetch(id, at: now)
        case 5:
            guard let id = peer.wantedFiles.min(by: { $0.description < $1.description }) else {
                break
            }
            peer.wantedFiles.remove(id)
            peer.replicator.cancelFetch(id)
        default: break
        }
        try perform(peer)
        agenda.add(
            .file(peer: peer.number), at: now + UInt64(1 + random.below(30_000)) * 1_000_000)
    }

    /// Fetches all missing files on all peers.
    func fetchMissing() throws {
        for peer in honest {
            for id in files where try !peer.attachments.has(id) {
                report.fetches += 1
                peer.wantedFiles.insert(id)
                peer.replicator.fetch(id, at: now)
            }
            try perform(peer)
        }
    }

    /// Checks that each peer has all files, and no fetch in progress.
    func checkFiles() throws {
        for peer in honest {
            guard peer.wantedFiles.isEmpty else {
                throw Violation(
                    description: "peer \(peer.number) still fetches \(peer.wantedFiles)")
            }
            for id in files {
                guard let file = try peer.attachments.file(id) else {
                    throw Violation(description: "peer \(peer.number) lacks file \(id)")
                }
                // Reading verifies each chunk against its hash, which the id covers.
                for chunk in 0..<file.chunkCount { _ = try file.read(chunk) }
            }
        }
    }
}
