"""The languages of the page: every text that it shows is English in the code, and looked up in a table for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from flask import g, has_request_context, request
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge

from ..runtime import registry

LANGUAGES: Mapping[str, str] = {"en": "English", "ar": "العربية"}
"""The languages that the page speaks, each by its own name."""

ARABIC: Mapping[str, str] = {
    # The frame
    "Skip to the results": "تخطَّ إلى النتائج",
    "Tabs": "علامات التبويب",
    "Language": "اللغة",
    "Search": "بحث",
    "Check": "فحص",
    "Verify": "تحقُّق",
    "Add": "إضافة",
    "The same as JSON": "هذا البحث بصيغة JSON",
    "API": "واجهة البرمجة",
    "Indexes": "الفهارس",
    "Back": "رجوع",
    "Back to the search": "العودة إلى البحث",
    "request {id}": "الطلب {id}",
    # The box
    "Search for evidence": "البحث عن أدلة",
    "Claim, tweet or question": "ادعاء أو تغريدة أو سؤال",
    "A claim, a tweet or a question": "ادعاء أو تغريدة أو سؤال",
    "Search in": "البحث في",
    "From": "من تاريخ",
    "Nothing newer than": "لا شيء أحدث من",
    "Read as": "يُقرأ على أنه",
    "a claim": "ادعاء",
    "a tweet": "تغريدة",
    "Of a tweet, links, mentions and RT are left out, and hashtags are split into words.": (
        "تُحذف من التغريدة الروابط والإشارات وRT، وتُقسَّم الوسوم إلى كلمات."
    ),
    "Leaves out what was published after this day, and what has no date.": (
        "يستبعد ما نُشر بعد هذا اليوم وما لا تاريخ له."
    ),
    "More choices": "خيارات أخرى",
    "Ranked by": "الترتيب حسب",
    "as usual": "كالمعتاد",
    "Show near-copies one by one": "إظهار النسخ المتقاربة واحدة واحدة",
    "Keep what has no date": "إبقاء ما لا تاريخ له",
    "Hits a page": "عدد النتائج في الصفحة",
    # What is set, and what narrows
    "What is set": "ما جرى اختياره",
    "Without {label} {value}": "من دون {label} {value}",
    "word for word": "حرفيًا",
    "leaving out": "باستبعاد",
    "title": "العنوان",
    "before": "قبل",
    "after": "بعد",
    "index": "الفهرس",
    "from": "من تاريخ",
    "nothing newer than": "لا شيء أحدث من",
    "undated": "بلا تاريخ",
    "kept": "يُبقى",
    "read as": "يُقرأ على أنه",
    "ranked by": "الترتيب حسب",
    "stage": "مرحلة",
    "near-copies": "النسخ المتقاربة",
    "unfolded": "منشورة",
    "hits a page": "عدد النتائج في الصفحة",
    "more like": "ما يشبه",
    "sorted by": "الترتيب حسب",
    "date": "التاريخ",
    "year": "السنة",
    "topic": "الموضوع",
    "language": "اللغة",
    "kind": "النوع",
    "Narrow": "تضييق",
    "Narrow the results": "تضييق النتائج",
    "and {more} more": "و{more} غيرها",
    "Documents with a word of it: {count}": "وثائق فيها كلمة منه: {count}",
    "No document holds a word of it. What is shown was found by its meaning alone: read it with doubt.": (
        "لا توجد وثيقة فيها كلمة منه. ما يظهر هنا عُثر عليه بمعناه فقط: اقرأه بحذر."
    ),
    "A date is set, so documents that have no date are left out: {count}.": (
        "حُدِّد تاريخ، فاستُبعدت الوثائق التي لا تاريخ لها: {count}."
    ),
    "Show them too": "أظهرها أيضًا",
    "Documents that can be ranked: {count}": "وثائق يمكن ترتيبها: {count}",
    # The hits
    "View": "العرض",
    "One list": "قائمة واحدة",
    "Side by side": "جنبًا إلى جنب",
    "Rankings": "الترتيبات",
    "Order": "الترتيب",
    "The best first": "الأفضل أولًا",
    "The newest first": "الأحدث أولًا",
    "More like": "ما يشبه",
    "More like this": "ما يشبه هذه",
    "Did you mean": "هل تقصد",
    "All indexes": "كل الفهارس",
    "one list over all of them, by rank": "قائمة واحدة منها جميعًا بحسب المراتب",
    "Hybrid": "هجين",
    "words and meaning together": "الكلمات والمعنى معًا",
    "Sparse": "لفظي",
    "the same words, by BM25": "الكلمات نفسها، بطريقة BM25",
    "Dense": "دلالي",
    "the same meaning, by vectors": "المعنى نفسه، بالمتجهات",
    "By date": "بحسب التاريخ",
    "Collapse": "طيّ",
    "Combine": "دمج متعلَّم",
    "Per source": "لكل مصدر",
    "Re-rank": "إعادة ترتيب",
    "{ms} ms ranking": "{ms} م‌ث للترتيب",
    "{ms} ms evidence": "{ms} م‌ث للأدلة",
    "By an approximate index: a few of the nearest may be missing.": "بفهرس تقريبي: قد يغيب بعض الأقرب.",
    "This ranking took too long and was cut off.": "استغرق هذا الترتيب وقتًا أطول من اللازم فقُطع.",
    "Without {names}, which took too long.": "من دون {names}، إذ استغرق وقتًا أطول من اللازم.",
    "This index is of another language. Ask": "هذا الفهرس بلغة أخرى. اسأل",
    "Nothing found": "لا نتائج",
    "up to {date}; what has no date is left out": "حتى {date}؛ ويُستبعد ما لا تاريخ له",
    "Pages": "الصفحات",
    "Previous hits": "النتائج السابقة",
    "Next hits": "النتائج التالية",
    "score": "الدرجة",
    "source": "المصدر",
    "Source of {title}": "مصدر {title}",
    "no date": "بلا تاريخ",
    "found only by its meaning, weakly": "عُثر عليه بمعناه فقط، وبضعف",
    "only here": "هنا فقط",
    "{label} {rank}, the same document": "{label} {rank}، الوثيقة نفسها",
    "{label}: {before} → {after}": "{label}: {before} ← {after}",
    "Claimed by": "قال به",
    "Rated": "التقييم",
    "by": "من",
    "Why this?": "لماذا هذه؟",
    "The passage holds these words of the claim, the heaviest first:": "في المقطع هذه الكلمات من الادعاء، أثقلها أولًا:",
    "The passage holds no word of the claim: it was found by its meaning.": (
        "ليس في المقطع كلمة من الادعاء، وقد عُثر عليه بمعناه."
    ),
    "weight": "الوزن",
    "{label} ranks it number {rank}": "مرتبته في الترتيب ال{label}: {rank}",
    "The votes are added up: the highest sum stands first.": "تُجمع الأصوات، وأعلى مجموع يأتي أولًا.",
    "From here on, the matches on this page are weak: found only by their meaning, and no nearer to what was asked "
    "than passages come to made-up words.": (
        "من هنا فصاعدًا النتائج في هذه الصفحة ضعيفة: عُثر عليها بمعناها فقط، وليست أقرب إلى السؤال مما تقترب المقاطع "
        "من كلمات لا معنى لها."
    ),
    "at most so many hits of one source": "عدد محدود من النتائج لكل مصدر",
    "ranks anew by a model that reads query and passage together": "يعيد الترتيب بنموذج يقرأ السؤال والمقطع معًا",
    "ranks anew by what was learned of one's own judgements (factseek train combiner)": (
        "يعيد الترتيب بما تعلّمه من أحكامك (factseek train combiner)"
    ),
    "for spreadsheets": "لجداول البيانات",
    "for programs": "للبرامج",
    "for programs, a hit a line": "للبرامج، نتيجة في كل سطر",
    "for reference managers": "لبرامج إدارة المراجع",
    "for LaTeX": "لـLaTeX",
    "for evaluation": "للتقييم",
    "for web pages": "لصفحات الويب",
    "a vote of {vote}": "صوته {vote}",
    "{label} does not have it among its first {depth}": "ليس بين أول {depth} في الترتيب ال{label}",
    "{label}: it came as number {rank}": "{label}: جاء بالمرتبة {rank}",
    "it left it as number {rank}": "وخرج منها بالمرتبة {rank}",
    "Cite": "اقتباس",
    "Plain text": "نص",
    "Link": "الرابط",
    "Copy": "نسخ",
    "Copied": "نُسخ",
    "Near-copies: {count}": "نسخ متقاربة: {count}",
    "Export": "تصدير",
    "The first {count} hits as a file:": "أول {count} نتيجة في ملف:",
    # The start
    "What does the evidence say?": "ماذا تقول الأدلة؟",
    "Type a claim: its evidence comes back ranked, with source and date, and says of each hit why it is there. "
    "Narrow it by the counts beside it, copy a citation, take the list with you.": (
        "اكتب ادعاءً تعُد إليك أدلته مرتبةً بمصادرها وتواريخها، ومع كل نتيجة سبب وجودها. ضيّقها بالأعداد المجاورة، وانسخ "
        "اقتباسًا، وخذ القائمة معك."
    ),
    "Try one": "جرّب واحدًا",
    # A document
    "Evidence for": "أدلة على",
    "Search {index}": "البحث في {index}",
    "Document": "الوثيقة",
    "Source": "المصدر",
    "Date": "التاريخ",
    "Topic": "الموضوع",
    "Passages": "المقاطع",
    "none given": "غير مذكور",
    "Passages with words of the claim": "مقاطع فيها كلمات من الادعاء",
    "Words of the claim in passage": "كلمات الادعاء في المقطع",
    "No passage has words of the claim.": "لا مقطع فيه كلمات من الادعاء.",
    "Passage {number}": "المقطع {number}",
    "Link to passage {number}": "رابط المقطع {number}",
    # Check
    "Check what is worth checking": "فحص ما يستحق التحقق",
    "What is worth checking?": "ما الذي يستحق التحقق؟",
    "Tweets or a transcript": "تغريدات أو نص خطاب",
    "Tweets, one a line, or the transcript of a speech": "تغريدات، واحدة في كل سطر، أو نص خطاب",
    "These are": "هذه",
    "tweets, one a line": "تغريدات، واحدة في كل سطر",
    "found out from the text": "يُستنتج من النص",
    "a transcript, sentence by sentence": "نص خطاب، جملة جملة",
    "Read as a transcript, each sentence by itself: {count}.": "قُرئ على أنه نص خطاب، كل جملة وحدها: {count}.",
    "Read as tweets, one a line: {count}.": "قُرئ على أنه تغريدات، واحدة في كل سطر: {count}.",
    "Read it as tweets, one a line": "اقرأه على أنه تغريدات، واحدة في كل سطر",
    "Read it as a transcript, each sentence by itself": "اقرأه على أنه نص خطاب، كل جملة وحدها",
    "There is nothing to check: paste tweets or a transcript into the box, or choose a file": (
        "لا شيء للفحص: ألصق تغريدات أو نص خطاب في المربع، أو اختر ملفًا"
    ),
    "Put each tweet on a line of its own. A paragraph, or lines that say who speaks or when, is taken for a "
    "transcript: each sentence is then looked at by itself.": (
        "ضع كل تغريدة في سطر وحدها. أما الفقرة، أو الأسطر التي تذكر المتكلم أو الوقت، فتُعَدّ نص خطاب، ويُنظر في كل جملة "
        "وحدها."
    ),
    "or a file": "أو ملف",
    "This server ranks no claims": "هذا الخادم لا يرتّب الادعاءات",
    "It was started without a model of check-worthiness. Whoever runs it can train one and name it:": (
        "شُغّل من دون نموذج لاستحقاق التحقق. يمكن لمن يشغّله أن يدرّب نموذجًا ويسمّيه:"
    ),
    "Ranked by the model {name}, which learned from {languages}. It says what to look at first, not what is true; a "
    "person decides.": (
        "رتّبها النموذج {name} الذي تعلّم من {languages}. إنه يقول بمَ تبدأ، لا ما هو صحيح؛ والقرار لإنسان."
    ),
    "worth checking": "استحقاق التحقق",
    "Words that weigh:": "الكلمات ذات الوزن:",
    "Evidence": "الأدلة",
    "Paste tweets or a transcript, or choose a file. They come back in the order in which they are worth "
    "checking, with the words that weigh and a link to the evidence on each.": (
        "ألصق تغريدات أو نص خطاب، أو اختر ملفًا. تعود إليك مرتبةً بحسب استحقاقها للتحقق، مع الكلمات ذات الوزن ورابط إلى "
        "أدلة كل منها."
    ),
    # Verify
    "Verify a claim": "التحقق من ادعاء",
    "What does the evidence say of it?": "ماذا تقول الأدلة عنه؟",
    "Claim": "الادعاء",
    "One claim, in a sentence": "ادعاء واحد في جملة",
    "Evidence from": "الأدلة من",
    "The evidence seems to support it": "يبدو أن الأدلة تؤيده",
    "The evidence seems to speak against it": "يبدو أن الأدلة تخالفه",
    "The evidence does not settle it": "الأدلة لا تحسمه",
    "It is not clear what the evidence says of it": "ليس واضحًا ما تقوله الأدلة عنه",
    "No verdict": "لا حكم",
    "Why there is none:": "السبب:",
    "SUPPORTS": "مؤيَّد",
    "REFUTES": "مفنَّد",
    "NOT ENOUGH INFO": "الأدلة لا تكفي",
    "TRUE": "صحيح",
    "FALSE": "خاطئ",
    "A program drafted this; a person decides.": "هذه مسودة برنامج، والقرار لإنسان.",
    "It is often wrong. Read the sentences at their source, and name the sources, not the verdict.": (
        "كثيرًا ما يخطئ. اقرأ الجمل في مصادرها، واذكر المصادر لا الحكم."
    ),
    "The model {name} learned from {count} claims.": "تعلّم النموذج {name} من {count} من الادعاءات.",
    "Tested on those that it was kept from seeing, it was right in {right} of 100 (macro-F1, which counts every "
    "verdict alike: {f1}), and its probabilities were off by {off} points in the mean.": (
        "وحين اختُبر على ما حُجب عنه منها أصاب في {right} من كل 100 (macro-F1 الذي يساوي بين الأحكام: {f1})، وحادت "
        "احتمالاته {off} نقطة في المتوسط."
    ),
    "They are too few to say how often it is right.": "وهي أقل من أن تدل على نسبة صوابه.",
    "That is very little: take it as a show of what a model of your own would do.": (
        "وهذا قليل جدًا: عُدَّه عرضًا لما قد يفعله نموذج خاص بك."
    ),
    "Sentences for it": "جمل تؤيده",
    "Sentences against it": "جمل تخالفه",
    "Sentences that say neither": "جمل لا تؤيد ولا تخالف",
    "by this sentence alone {share} %": "بهذه الجملة وحدها {share} %",
    "Nothing was found that bears on it, so there is no verdict.": "لم يُعثر على ما يتصل به، فلا حكم.",
    "All evidence": "كل الأدلة",
    "This server judges no claims by {index}": "هذا الخادم لا يحكم على الادعاءات بالفهرس {index}",
    "Its models of verdicts learned with other indexes: a language, a ranking or an encoder differs.": (
        "تعلّمت نماذج أحكامه مع فهارس أخرى تختلف لغةً أو ترتيبًا أو مُرمِّزًا."
    ),
    "It was started without a model of verdicts.": "شُغّل من دون نموذج أحكام.",
    "Whoever runs it can train one and name it:": "يمكن لمن يشغّله أن يدرّب نموذجًا ويسمّيه:",
    "Type one claim. The sentences that bear on it come back sorted into for and against, each with source and "
    "date, and with what a model makes of them, how far that can be trusted, and never without the evidence.": (
        "اكتب ادعاءً واحدًا. تعود إليك الجمل المتصلة به مفروزةً بين مؤيد ومخالف، كل منها بمصدرها وتاريخها، مع ما يستخلصه "
        "نموذج منها ومقدار الثقة به، وليس أبدًا من دون الأدلة."
    ),
    # Add
    "Add a document": "إضافة وثيقة",
    "Nothing can be added on this server": "لا يمكن إضافة شيء على هذا الخادم",
    "It was started without the right to change its indexes, which always needs a key. Whoever runs it can make "
    "a key, let it in under server.keys, and start it anew:": (
        "شُغّل من دون حق تغيير فهارسه، وهو يحتاج دائمًا إلى مفتاح. يمكن لمن يشغّله أن يصنع مفتاحًا ويُدخله تحت server.keys "
        "ويعيد تشغيله:"
    ),
    "It is added to {index}, and the next search finds it.": "أُضيفت إلى {index}، والبحث التالي يجدها.",
    "Search for it": "ابحث عنها",
    "Add another": "أضف أخرى",
    "What would be added": "ما الذي سيُضاف",
    "Passages: {count}": "المقاطع: {count}",
    "Look it over below, mend what is wrong, and add it.": "راجعها أدناه، وأصلح ما فيها من خطأ، ثم أضفها.",
    "Paste a text, paste the HTML of a page, or choose a saved page or a text file. You see what was taken from "
    "it before anything is added.": (
        "ألصق نصًا، أو شيفرة HTML لصفحة، أو اختر صفحة محفوظة أو ملفًا نصيًا. ترى ما أُخذ منها قبل أن يُضاف شيء."
    ),
    "Index": "الفهرس",
    "Saved page or text file, at most {size} MB": "صفحة محفوظة أو ملف نصي، {size} م.ب على الأكثر",
    "or the HTML of a page": "أو شيفرة HTML لصفحة",
    "Text": "النص",
    "or a text": "أو نص",
    "Title": "العنوان",
    "Address": "عنوان الويب",
    "Date, such as 2020-03-01": "التاريخ، مثل 2020-03-01",
    "Language, such as en": "اللغة، مثل ar",
    "Replace a document of this name": "استبدال وثيقة بهذا الاسم",
    "Look again": "عاين ثانيةً",
    "Preview": "معاينة",
    "Add it": "أضفها",
    # Errors
    "The request makes no sense": "الطلب غير مفهوم",
    "The server failed": "تعطّل الخادم",
    "Method not allowed": "طريقة غير مسموح بها",
    "Not found": "غير موجود",
    "It took too long": "استغرق وقتًا أطول من اللازم",
    "Too large": "أكبر من اللازم",
    "Too many requests": "طلبات أكثر من اللازم",
    "A key is needed": "يلزم مفتاح",
    "This server changes nothing": "هذا الخادم لا يغيّر شيئًا",
    "No such document": "لا وثيقة بهذا الاسم",
    "No such index": "لا فهرس بهذا الاسم",
}


_RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"})
_TABLES: Mapping[str, Mapping[str, str]] = {"ar": ARABIC}


class Speech(NamedTuple):
    """A language that the page speaks."""

    language: str

    @property
    def direction(self) -> str:
        """The ``dir`` of the whole page."""
        return direction_of(self.language)

    @property
    def arrow_back(self) -> str:
        """An arrow to where one came from."""
        return "→" if self.direction == "rtl" else "←"

    def __call__(self, text: str, **values: object) -> str:
        """Return an English text in this language; ``{name}`` in it is replaced by its value."""
        spoken = _TABLES.get(self.language, {}).get(text, text)
        return spoken.format(**values) if values else spoken


ENGLISH = Speech("en")


def direction_of(language: str) -> str:
    """Return the ``dir`` of a text: where the language is not known to be written from the right, ``ltr``."""
    return "rtl" if language in _RIGHT_TO_LEFT else "ltr"


def speech() -> Speech:
    """Return the language of the current request: what it asks for, else that of the first index that it names."""
    if not has_request_context():
        return ENGLISH
    if "speech" not in g:
        values = asked_values()
        g.speech = Speech(_language(values.get("lang", ""), values.getlist("index")))
    spoken: Speech = g.speech
    return spoken


def asked_values() -> MultiDict[str, str]:
    """Return the parameters of the current request, of its address alone where its body is too large to be read."""
    try:
        return request.values
    except RequestEntityTooLarge:
        return request.args


def _language(asked: str, names: Sequence[str]) -> str:
    if asked in LANGUAGES:
        return asked
    indexes = registry().indexes
    named = [*names, *(request.view_args or {}).values(), *indexes]
    language = next((indexes[name].index.info.language for name in named if name in indexes), "en")
    return language if language in LANGUAGES else "en"
