package import SheafDocument
import SheafEngine
import SheafStorage

/// The reason why an export ended early; texts are complete sentences without a full stop.
package enum ExportError: Error, Equatable, Sendable {
    /// Options or operands that contradict each other or the data.
    case usage(String)
    /// The store cannot be read, or the statement fails.
    case store(StoreError)
    /// The file cannot be written.
    case failed(String)
    /// The reader of standard output has closed it.
    case closed
}

/// Runs `body` and converts errors of the store.
func onStore<Result>(
    _ body: () throws(StoreError) -> Result
) throws(ExportError) -> Result {
    do throws(StoreError) { return try body() } catch { throw .store(error) }
}

/// Runs `body` and converts errors of files.
func onFile<Result>(
    _ body: () throws(VolumeError) -> Result
) throws(ExportError) -> Result {
    do throws(VolumeError) { return try body() } catch { throw .failed("\(error)") }
}

/// Runs `body` and converts errors of SQLite.
func onSQLite<Result>(
    _ body: () throws(SQLiteError) -> Result
) throws(ExportError) -> Result {
    do throws(SQLiteError) { return try body() } catch { throw .failed(error.message) }
}
