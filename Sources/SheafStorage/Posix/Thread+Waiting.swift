extension Thread {
    /// Runs `body` on a thread of its own, and waits for it without keeping the caller's.
    ///
    /// What waits for the disk must not do so on the threads of Swift's concurrency.
    package static nonisolated(nonsending) func run<Result: Sendable>(
        name: String, _ body: @escaping @Sendable () -> Result
    ) async throws(ThreadRefused) -> Result {
        let outcome = await withUnsafeContinuation {
            (continuation: UnsafeContinuation<Swift.Result<Result, ThreadRefused>, Never>) in
            do throws(ThreadRefused) {
                // Nobody joins the thread: it is let go of as soon as it runs.
                _ = try Thread(name: name) { continuation.resume(returning: .success(body())) }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try outcome.get()
    }
}
