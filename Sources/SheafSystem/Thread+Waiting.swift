extension Thread {
    /// Runs `body` on a new thread and suspends the caller until it returns.
    ///
    /// Blocking on the disk is not allowed on the threads of Swift's concurrency.
    package static nonisolated(nonsending) func run<Result: Sendable>(
        name: String, _ body: @escaping @Sendable () -> Result
    ) async throws(ThreadRefused) -> Result {
        let outcome = await withUnsafeContinuation {
            (continuation: UnsafeContinuation<Swift.Result<Result, ThreadRefused>, Never>) in
            do throws(ThreadRefused) {
                // The thread is never joined: releasing the object detaches it.
                _ = try Thread(name: name) { continuation.resume(returning: .success(body())) }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try outcome.get()
    }
}
