import SheafDocument
import SheafStatements
import SheafStorage
import SheafSystem
import Synchronization

extension Store {
    /// Copies the store to a new directory while it is in use; the copy is a store of its own.
    ///
    ///     let monday = try await store.backup(to: "/backups/monday")
    ///     let tuesday = try await store.backup(to: "/backups/tuesday", since: "/backups/monday")
    ///
    /// The copy has all commits that are durable when it begins. Writers do not wait for it. It is
    /// verified before it gets its name, so after an error or a crash there is no directory at
    /// `path`. The directory must not exist, or be empty; its parent must exist.
    ///
    /// If the log is damaged, or an attachment that a document references, the error names the
    /// file, and no backup is made. Damaged attachments that no document references are left out.
    ///
    /// With the path of an earlier backup of the store, only what has changed since is copied, and
    /// the other files are shared with it. Each backup is complete: the earlier one can be deleted.
    ///
    /// A backup can be opened for reading and for writing. With its first write it becomes another
    /// site, so that it can sync with the store. The cancellation of the task ends the backup.
    @discardableResult
    public nonisolated(nonsending) func backup(
        to path: String, since earlier: String? = nil,
        progress: (@Sendable (BackupProgress) -> Void)? = nil
    ) async throws -> BackupSummary {
        guard !isClosed.load(ordering: .acquiring) else { throw StoreError.closed }
        let source = backupSource
        let log = isReadOnly ? nil : try log
        return try await Self.copy(source, to: path, since: earlier, progress) {
            // With relaxed durability, finished writes may not be durable yet. A store that
            // refuses writes after a failed one can still be copied.
            try? log?.flush()
        }
    }

    /// Copies a backup to a new directory, as a store that continues from the backup.
    ///
    /// The new store becomes another site with its first write: it can sync with the store that
    /// was backed up, even if that one is still in use. The backup is not changed.
    @discardableResult
    public static nonisolated(nonsending) func restore(
        from backup: String, to path: String,
        progress: (@Sendable (BackupProgress) -> Void)? = nil
    ) async throws -> BackupSummary {
        let reader = try await runOnThread("sheaf-restore") { () throws(StoreError) in
            do throws(StorageError) { return try LogReader.open(at: backup) } catch {
                throw StoreError(error, openingAt: backup)
            }
        }
        return try await copy(BackupSource(reader), to: path, since: nil, progress) {}
    }

    private static nonisolated(nonsending) func copy(
        _ source: BackupSource, to path: String, since earlier: String?,
        _ progress: (@Sendable (BackupProgress) -> Void)?,
        prepare: @escaping @Sendable () -> Void
    ) async throws -> BackupSummary {
        try await runOnThread(cancellably: "sheaf-backup") { (stop) throws(StoreError) in
            prepare()
            let options = BackupWriter.Options(
                random: { OperatingSystem.randomInteger() },
                attachments: .ofDocuments
            ) { (step) throws(StorageError) in
                guard !stop.isSet else { throw .cancelled }
                progress?(BackupProgress(step))
            }
            do throws(StorageError) {
                let report = try BackupWriter.write(
                    source, at: source.volume.path, to: path, since: earlier, options)
                return BackupSummary(report)
            } catch {
                throw StoreError(error)
            }
        }
    }
}
