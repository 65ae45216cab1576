package factseek;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Works in a thread of its own, on one piece after another. A caller waits only for the piece before. */
final class Background<T> {
    private final ExecutorService thread = threads(1);
    private Future<T> last;

    /** Wait for the piece before, begin the next one, and return the result of the one before; null if there is none. */
    T next(Callable<T> work) throws Exception {
        T result = await();
        last = thread.submit(work);
        return result;
    }

    /** Wait for the last piece and return its result; null if there is none. */
    T await() throws Exception {
        if (last == null) return null;
        Future<T> begun = last;
        last = null;
        return result(begun);
    }

    void close() {
        thread.shutdown();
    }

    static <T> T result(Future<T> begun) throws Exception {
        try {
            return begun.get();
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof Error) throw (Error) failed.getCause();
            throw (Exception) failed.getCause();
        }
    }

    /** Return threads that end with the program. */
    static ExecutorService threads(int number) {
        return Executors.newFixedThreadPool(number, work -> {
            Thread thread = new Thread(work, "factseek");
            thread.setDaemon(true);
            return thread;
        });
    }
}
