package factseek;

import java.io.Closeable;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.LogManager;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.store.AlreadyClosedException;

/**
 * The objects that Python uses, by number. Pyjnius stores the receiver of a method call in a place that all threads
 * share. So pyjnius holds none of these objects, and any thread may call any static method at any time.
 */
public final class Handles {
    private static final Map<Long, Object> OBJECTS = new ConcurrentHashMap<>();
    private static final AtomicLong LAST = new AtomicLong();

    private Handles() {}

    /** Turn off Lucene's logging, and allow a query as many terms as a long text has. */
    public static void prepare() {
        LogManager.getLogManager().reset();
        IndexSearcher.setMaxClauseCount(65_536);
    }

    static long keep(Object object) {
        long handle = LAST.incrementAndGet();
        OBJECTS.put(handle, object);
        return handle;
    }

    static <T> T get(long handle, Class<T> kind) {
        Object object = OBJECTS.get(handle);
        if (object == null) throw new AlreadyClosedException("this " + kind.getSimpleName() + " is closed");
        return kind.cast(object);
    }

    /** Close the object of a handle; a second call does nothing. */
    public static void close(long handle) throws IOException {
        Object object = OBJECTS.remove(handle);
        if (object instanceof Closeable) ((Closeable) object).close();
    }
}
