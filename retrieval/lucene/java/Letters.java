package factseek;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The letters that may be words of their own: characters of Chinese, Japanese and Korean, and clusters of the scripts
 * of South-East Asia (a consonant with its vowels and signs). They are indexed next to the words that contain them.
 */
final class Letters {
    private static final String ASIAN =
        "\\p{IsThai}\\p{IsLao}\\p{IsKhmer}\\p{IsMyanmar}\\p{IsTai_Le}\\p{IsNew_Tai_Lue}\\p{IsTai_Tham}\\p{IsTai_Viet}";
    private static final Pattern CLUSTER = Pattern.compile(
        "[\u0e40-\u0e44\u0ec0-\u0ec4]?[" + ASIAN + "&&[^\\p{M}]]"
        + "(?:[\u17d2\u1039\u1a60][" + ASIAN + "]|\\p{M}|[\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3\u0ebd])*");
    private static final Pattern LETTER = Pattern.compile("[\\p{IsHan}\\p{IsHangul}]|" + CLUSTER.pattern());

    private Letters() {}

    /** Return the letters within a longer term, without those that begin in its first known characters. */
    static List<String> of(String term, int known) {
        List<String> letters = new ArrayList<>();
        Matcher each = LETTER.matcher(term);
        while (each.find()) {
            if (each.start() >= known && each.end() - each.start() < term.length()) letters.add(each.group());
        }
        return letters;
    }

    /** Return the start of each cluster of a South-East Asian text, then the text's end; nothing for other texts. */
    static List<Integer> clusters(CharSequence text) {
        List<Integer> bounds = new ArrayList<>();
        Matcher each = CLUSTER.matcher(text);
        while (each.find()) bounds.add(each.start());
        if (!bounds.isEmpty()) bounds.add(text.length());
        return bounds;
    }
}
