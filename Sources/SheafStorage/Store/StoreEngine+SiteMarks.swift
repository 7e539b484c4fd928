/// A file that tells the files of a store from a copy of them.
///
/// It is made before the first commit of an opening, and never written again. A copy of it, and the same
/// file after something was copied over it, have another identity than the log says.
package struct SiteMark: Sendable {
    package let name: String
    package let identity: UInt64
}

extension StoreEngine {
    /// The random bytes of a mark; a file without any would look the same wherever it is.
    private static let markLength = 16
    /// How many names are drawn before an existing file is an error.
    private static let mostNamesDrawn = 16

    /// Returns what tells the directory from all others; 0 where the system does not know.
    package var directoryIdentity: UInt64 { options.identity ?? volume.identity }

    /// Whether the directory has marks: not where its identity is given, or unknown.
    package var hasSiteMarks: Bool { options.identity == nil && volume.identity != 0 }

    /// Returns the marks in the directory, in no order.
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

    /// Makes a mark, and makes it durable.
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

    /// Creates the file of a mark under a name that no other mark has.
    ///
    /// A generator that begins with the same seed at each opening draws names that exist.
    private func createSiteMark() throws(VolumeError) -> (name: String, file: any VolumeFile) {
        for _ in 1..<Self.mostNamesDrawn {
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

    /// Removes marks once a commit is durable: until then the log may name one of them.
    package func remove(_ marks: [SiteMark], whenDurable commit: CommitID) {
        guard !marks.isEmpty else { return }
        whenDurable(commit) { [volume] result in
            guard case .success = result else { return }
            // One that stays is removed after the first commit of the next opening.
            for mark in marks { try? volume.remove(mark.name) }
        }
    }
}
