import Foundation
import Sheaf
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport

/// A store on disk that tests query through the tool.
package struct QueryCommandStore {
    private let directory = TemporaryDirectory()
    var path: String { directory.path("store") }

    /// Creates a store with these documents in one collection.
    init(_ collection: String = "cars", _ documents: [(id: Value, fields: Object)] = []) throws {
        let store = try open()
        if !documents.isEmpty {
            let engine = try DocumentEngine(store)
            _ = try engine.commit(
                documents.map { DocumentChange(collection, $0.id, .insert($0.fields)) }
            ) { batch throws(StorageError) in try store.append(batch) }
        }
        try store.close()
    }

    /// Opens the store for writing; creates it if it does not exist.
    func open() throws -> StoreEngine {
        try StoreEngine(opening: try PosixVolume(path: path, creatingDirectory: true))
    }

    /// Runs a statement with the tool.
    func query(_ statement: String, _ words: String..., closed: Bool = false) throws -> ToolRun {
        try ToolRun(["query", path, statement] + words, closed: closed)
    }

    /// Runs a shell script in which "$0" is the tool and STORE the path of the store.
    func script(_ text: String) throws -> ToolRun {
        try ToolRun(script: "STORE='\(path)'\n" + text)
    }

    /// Returns the contents of all files of the store.
    func files() throws -> [String: [UInt8]] {
        try SimulatedVolume(importing: path).snapshotFiles()
    }
}
