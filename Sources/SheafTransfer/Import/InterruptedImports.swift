import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage

/// The interrupted imports whose progress a store has recorded.
struct InterruptedImports {
    private let target: ImportTarget
    private var imports: [UInt64: ImportProgress] = [:]

    init(_ target: ImportTarget) throws(ImportError) {
        self.target = target
        do throws(EngineError) {
            imports = try Self.read(target.queries.snapshot().log)
        } catch {
            throw ImportError(error)
        }
    }

    private static func read(
        _ snapshot: LogSnapshot
    ) throws(EngineError) -> [UInt64: ImportProgress] {
        var imports: [UInt64: ImportProgress] = [:]
        try snapshot.tree.forEach(in: StoreKey.imports) { (key, _) throws(EngineError) in
            guard case .importProgress(let hash)? = StoreKey(key) else { return true }
            let payload = try onStorage { () throws(StorageError) in
                try snapshot.payload(of: key)
            }
            guard let payload else { return true }
            imports[hash] = try onDocument(Array(key)) { () throws(Malformed) in
                try ImportProgress(decoding: payload)
            }
            return true
        }
        return imports
    }

    func progress(_ hash: UInt64) -> ImportProgress? { imports[hash] }

    /// Throws if an import that has no progress cannot begin as the continuation of one.
    ///
    /// A finished import has no progress either, so the import begins only in an empty
    /// collection.
    func checkBeginning(
        _ identity: ImportIdentity, _ numbering: RowNumbering
    ) throws(ImportError) {
        let title =
            "no import of \(ImportIdentity.shown(identity.name)) into "
            + "\(target.collection.shortened) was "
            + "interrupted"
        let others = imports.values.filter { $0.collection == target.collection }
            .sorted { $0.source < $1.source }
        guard others.isEmpty else {
            let list = others.map {
                "\(ImportIdentity.shown($0.source)) after "
                    + numbering.name(before: $0.position)
            }
            throw .source(
                title + ", but \(list.joined(separator: ", ").shortened): an import continues "
                    + "with the same file, of the same length and first bytes, and with the same "
                    + "options and types of columns")
        }
        let snapshot = target.queries.snapshot()
        guard let number = snapshot.catalog.number(ofCollection: target.collection),
            !snapshot.log.tree.isEmpty(in: StoreKey.documents(of: number))
        else { return }
        throw .source(
            title + ", and the collection has documents: it may be complete; without --resume all "
                + "rows are imported")
    }

    /// Returns the error for repeating an interrupted import without `--resume` or `--restart`.
    static func refusal(
        toRepeat progress: ImportProgress, _ numbering: RowNumbering
    ) -> ImportError {
        .source(
            "an import of \(ImportIdentity.shown(progress.source)) into "
                + "\(progress.collection.shortened) was interrupted after "
                + "\(numbering.name(before: progress.position)); --resume continues it, and "
                + "--restart imports all rows once more, and keeps those of the first attempt")
    }
}

extension ImportIdentity {
    /// Returns the name of a source for messages.
    static func shown(_ name: String) -> String {
        name == InputBuffer.standardInput ? "standard input" : name.shortened
    }

    /// Returns the hash that identifies an import of the source into a collection.
    func hash(into collection: String) -> UInt64 {
        var writer = ByteWriter(capacity: 256)
        writer.writeText(collection)
        writer.writeText(name)
        writer.write(length ?? .max)
        writer.write(head)
        writer.writeText(options)
        return writer.bytes.withUnsafeBytes { XXH3.hash64($0) }
    }
}
