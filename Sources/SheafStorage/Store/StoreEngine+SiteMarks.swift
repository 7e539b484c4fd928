/// A file that distinguishes a store's files from a copy of them.
///
/// It is written once, before the first commit after opening. If the file is copied or overwritten
/// by a copy, its identity differs from the one in the log.
package struct SiteMark: Sendable {
    package let name: String
    package let identity: UInt64
}

extension StoreEngine {
    /// The length of a mark; an empty file could have the same identity in a copy.
    private static let markLength = 16
    /// The number of random names to try before an existing file is an error.
    private static let maximumNameAttempts = 16

    /// The identity of the directory; zero if the system does not provide one.
    package var directoryIdentity: UInt64 { options.identity ?? volume.identity }

    /// Whether the directory uses marks: false if its identity is unknown or set by the options.
    package var hasSiteMarks: Bool { options.identity == nil && volume.identity != 0 }

    /// Returns the marks in the directory, unordered.
    package func siteMarks() throws(StorageError) -> [SiteMark] {
        try translatingErrors { () throws(VolumeError) in
            var marks: [SiteMark] = []
            for name in try volume.names() {
                guard case .siteMark = FileName(name) else { continue }
                marks.append(SiteMark(name: name, identity: try volume.identity(of: name)))
            }
            return marks
        }
    }

    /// Creates a mark durably.
    package func makeSiteMark() throws(StorageError) -> SiteMark {
        try translatingErrors { () throws(VolumeError) in
            let (name, file) = try createSiteMark()
            defer { file.close() }
            let words = (0..<Self.markLength / 8).map { _ in options.random() }
            var failure: VolumeError?
            words.withUnsafeBytes { bytes in
                do throws(VolumeError) { try file.writeFully(bytes, at: 0) } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            try file.synchronize()
            try volume.synchronizeNames()
            return SiteMark(name: name, identity: try volume.identity(of: name))
        }
    }

    /// Creates the file of a mark under an unused name.
    ///
    /// A generator seeded identically at each opening draws names that already exist.
    private func createSiteMark() throws(VolumeError) -> (name: String, file: any VolumeFile) {
        for _ in 1..<Self.maximumNameAttempts {
            let name = FileName.name(ofSiteMark: options.random())
            do throws(VolumeError) {
                return (name, try volume.open(name, .create))
            } catch {
                guard error.code == .exists else { throw error }
            }
        }
        let name = FileName.name(ofSiteMark: options.random())
        return (name, try volume.open(name, .create))
    }

    /// Removes marks after `commit` is durable; until then the log may refer to one of them.
    package func remove(_ marks: [SiteMark], whenDurable commit: CommitID) {
        guard !marks.isEmpty else { return }
        whenDurable(commit) { [volume] result in
            guard case .success = result else { return }
            // A remaining mark is removed after the first commit of the next opening.
            for mark in marks { try? volume.remove(mark.name) }
        }
    }
}
